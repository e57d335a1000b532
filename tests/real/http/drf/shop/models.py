"""Things."""

from django.db import models


class Thing(models.Model):
    """One thing."""

    name = models.CharField(max_length=80)
    is_odd = models.BooleanField()

    class Meta:
        ordering = ("id",)
