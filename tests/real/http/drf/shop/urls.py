"""The same things with three paginations, and their document."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView
from rest_framework import generics, pagination, serializers

from shop.models import Thing


class ThingSerializer(serializers.ModelSerializer):
    """A thing as JSON."""

    class Meta:
        model = Thing
        fields = ("id", "name", "is_odd")


class Numbered(pagination.PageNumberPagination):
    """Pages by number; at most 100 things each."""

    page_size = 25
    page_size_query_param = "page_size"
    max_page_size = 100


class Counted(pagination.LimitOffsetPagination):
    """Pages by offset; at most 100 things each."""

    default_limit = 25
    max_limit = 100


class Pointed(pagination.CursorPagination):
    """Pages by cursor, of a fixed size."""

    page_size = 75
    ordering = "id"


class Things(generics.ListAPIView):
    """List things."""

    queryset = Thing.objects.all()
    serializer_class = ThingSerializer


urlpatterns = [
    path("numbered/", Things.as_view(pagination_class=Numbered), name="numbered"),
    path("counted/", Things.as_view(pagination_class=Counted), name="counted"),
    path("pointed/", Things.as_view(pagination_class=Pointed), name="pointed"),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
]
