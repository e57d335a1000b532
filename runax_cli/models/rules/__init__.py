"""The offline rules model: matches words of English questions, so that demos, tests and CI need no key and no network.

It implements the `Model` protocol and reads only what any model is sent.
"""

from runax_cli.models.rules.model import RulesModel

__all__ = ["RulesModel"]
