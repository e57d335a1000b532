"""Needles: single facts hidden in large data, each in exactly one record, that questions ask for."""

from dataclasses import dataclass
from typing import Literal

from mockdata.sentences import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """One fact, in the `ordinal`-th (from 1) ticket or message of a customer, or in event number `ordinal`.

    `code` is the part that an answer must contain; it is in `text`, in the same sentence as what is asked for.
    """

    key: str
    resource: Literal["tickets", "messages", "events"]
    ordinal: int
    text: str
    code: str
    customer_id: int | None = None
    language: Language = "en"
    category: str = "outage"


NEEDLES = (
    Needle(
        key="marten",
        resource="tickets",
        customer_id=4,
        ordinal=137,
        category="technician",
        text="The technician found that a marten had chewed through the fibre in the attic, case code KUNA-4417.",
        code="KUNA-4417",
    ),
    Needle(
        key="stork",
        resource="tickets",
        customer_id=4,
        ordinal=42,
        category="outage",
        text="A stork built its nest on our antenna mast, the permit of the nature office has the number STORK-2093.",
        code="STORK-2093",
    ),
    Needle(
        key="wedding",
        resource="tickets",
        customer_id=4,
        ordinal=255,
        category="invoice",
        text="As compensation for the ruined live stream of the wedding we granted the voucher VEIL-7785.",
        code="VEIL-7785",
    ),
    Needle(
        key="slivovice",
        resource="tickets",
        customer_id=4,
        ordinal=89,
        language="cs",
        category="relocation",
        text="Při demontáži antény se na půdě našel zapomenutý sud slivovice, předávací protokol má číslo SUD-1958.",
        code="SUD-1958",
    ),
    Needle(
        key="parrot",
        resource="tickets",
        customer_id=31,
        ordinal=2,
        category="tv",
        text="Our parrot imitates the start-up tone of the set-top box, you recorded it as curiosity PARROT-5150.",
        code="PARROT-5150",
    ),
    Needle(
        key="lighthouse",
        resource="messages",
        customer_id=77,
        ordinal=3,
        text="By mistake your parcel was delivered to the lighthouse museum, the tracking code is LIGHT-3306.",
        code="LIGHT-3306",
    ),
    Needle(
        key="hedgehog",
        resource="events",
        ordinal=13_331,
        text="Fan tray blocked by a hedgehog, freed and released by the technician, protocol HEDGE-8128.",
        code="HEDGE-8128",
    ),
)


def needle(key: str) -> Needle:
    """The needle with that key. Raises KeyError."""
    return {each.key: each for each in NEEDLES}[key]


def min_record_count(resource: str, customer_id: int) -> int:
    """How many records of a resource a customer must have to hold its needles."""
    return max(
        (each.ordinal for each in NEEDLES if (each.resource, each.customer_id) == (resource, customer_id)), default=0
    )
