"""The offline rules model: words are matched, nothing is understood.

It stands behind the model seam so that demos, tests and CI run without a key and without a network. It reads only
what a model would be sent. English questions are what it is made for.
"""

from runax_cli.models.rules.model import RulesModel

__all__ = ["RulesModel"]
