"""`runax demo`: answer a question over the mock API in this process, with the offline rules model."""

from mock_api.app import create_app
from mock_api.serving import serve
from runax_cli.commands.ask import ask_question
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.core.exit_codes import ExitCode
from runax_cli.settings.file_schema import SettingsFile
from runax_cli.settings.loader import Configuration
from runax_cli.settings.settings import RULES_MODEL, Settings

QUESTION = 'What is the case code of the marten in the tickets of the customer named "Baláž"?'
TOKEN = "demo-token"  # noqa: S105  protects mock data only


async def run(common: CommonOptions) -> ExitCode:
    """Serve the mock API on a free port and ask the demo's question."""
    async with serve(create_app(token=TOKEN), port=0) as base_url:
        configuration = demo_configuration(base_url)
        if not common.output.quiet:
            for line in _introduction(configuration.settings):
                Printer(environment_of(common), "text").note(line)
        return await ask_question(QUESTION, common, configuration)


def demo_configuration(base_url: str, **settings: object) -> Configuration:
    """A configuration that ignores the environment and all settings files."""
    given = {"base_api_url": base_url, "base_api_token": TOKEN, "llm_name": RULES_MODEL} | settings
    return Configuration(settings=Settings.model_validate(given), structure=SettingsFile(), origins={})


def _introduction(settings: Settings) -> list[str]:
    effective = int(settings.llm_max_context * settings.llm_context_utilization)
    return [
        f"demo: a mock API of an internet provider's support is running at {settings.base_api_url}",
        f"demo: customer 4 has 261 tickets, about 355,000 tokens; one model request may use {effective:,}",
        f"demo: {QUESTION}",
    ]
