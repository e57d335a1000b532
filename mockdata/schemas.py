"""The published shapes of the records, for documents and for tests; records themselves are plain JSON.

Knows fields and types. Knows nothing of how a record comes about.
"""

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict


class RecordSchema(BaseModel):
    """A shape has the fields it names and no others."""

    model_config = ConfigDict(extra="forbid")


Language = Literal["cs", "en"]
CustomerStatus = Literal["active", "suspended", "closed"]
TicketStatus = Literal["open", "in_progress", "waiting_for_customer", "resolved", "closed"]
Priority = Literal["low", "normal", "high", "urgent"]
TicketCategory = Literal["outage", "slow_speed", "invoice", "router", "relocation", "technician", "tv", "contract"]
PaymentStatus = Literal["paid", "pending", "overdue", "refunded", "cancelled"]
PaymentMethod = Literal["bank_transfer", "card", "direct_debit", "cash"]
Severity = Literal["info", "warning", "error", "critical"]
MessageChannel = Literal["sms", "email", "push", "letter"]
Direction = Literal["outbound", "inbound"]


class Location(RecordSchema):
    """Where an address lies, in degrees."""

    lat: float
    lon: float


class Address(RecordSchema):
    """Where a customer is connected."""

    street: str
    city: str
    postal_code: str
    country: str
    floor: int | None
    location: Location | None


class Tariff(RecordSchema):
    """What a customer pays for; speeds in Mb/s, the fee in CZK a month."""

    code: str
    name: str
    download_mbps: int
    upload_mbps: int
    monthly_fee_czk: int


class CustomerDevice(RecordSchema):
    """A device at the customer's."""

    kind: str
    model: str
    serial: str
    is_rented: bool


class Company(RecordSchema):
    """The firm that a customer buys for."""

    name: str
    registration_number: str


class Customer(RecordSchema):
    """A customer of the provider."""

    id: int
    name: str
    email: str
    phone: str | None
    language: Language
    status: CustomerStatus
    registered_at: datetime
    address: Address
    tariff: Tariff
    devices: list[CustomerDevice]
    company: Company | None
    tags: list[str]
    note: str | None


class Author(RecordSchema):
    """Who wrote a message of a ticket."""

    role: Literal["agent", "customer"]
    name: str


class Attachment(RecordSchema):
    """A file that came with a message."""

    name: str
    bytes: int


class TicketMessage(RecordSchema):
    """One message of a ticket's conversation."""

    at: datetime
    author: Author
    text: str
    attachments: list[Attachment]


class TicketNote(RecordSchema):
    """What staff wrote for each other."""

    at: datetime
    author: str
    text: str


class TicketDevice(RecordSchema):
    """The device that a ticket is about."""

    model: str
    serial: str
    firmware: str


class Assignee(RecordSchema):
    """Who works on a ticket."""

    id: int
    name: str
    team: str


class Resolution(RecordSchema):
    """How a ticket ended."""

    summary: str
    resolved_at: datetime


class Satisfaction(RecordSchema):
    """What the customer thought of it, from 1 (bad) to 5."""

    score: int
    comment: str | None


class Ticket(RecordSchema):
    """A request to support, with all that was said about it."""

    id: int
    customer_id: int
    created_at: datetime
    updated_at: datetime
    status: TicketStatus
    priority: Priority
    category: TicketCategory
    channel: str
    language: Language
    subject: str
    description: str
    tags: list[str]
    device: TicketDevice | None
    assigned_to: Assignee | None
    messages: list[TicketMessage]
    notes: list[TicketNote]
    related_tickets: list[int]
    resolution: Resolution | None
    satisfaction: Satisfaction | None


class PaymentLine(RecordSchema):
    """One line of an invoice."""

    code: str
    text: str
    amount: float


class Refund(RecordSchema):
    """Money that was given back."""

    refunded_on: date
    amount: float
    reason: str


class Payment(RecordSchema):
    """An invoice and what became of it."""

    id: int
    customer_id: int
    invoice_number: str
    variable_symbol: str
    issued_on: date
    due_on: date
    paid_on: date | None
    status: PaymentStatus
    method: PaymentMethod | None
    amount: float
    currency: Literal["CZK", "EUR"]
    lines: list[PaymentLine]
    refund: Refund | None
    note: str | None


class Delivery(RecordSchema):
    """How sending a message went."""

    status: Literal["delivered", "failed"]
    attempts: int


class Message(RecordSchema):
    """A message between the provider and a customer, outside of tickets."""

    id: int
    customer_id: int
    ticket_id: int | None
    sent_at: datetime
    read_at: datetime | None
    channel: MessageChannel
    direction: Direction
    language: Language
    text: str
    delivery: Delivery | None
    attachments: list[str]


class Labels(RecordSchema):
    """Where on a device something was measured."""

    rack: str
    port: int | None


class Event(RecordSchema):
    """What a device of the network reported."""

    id: int
    ts: datetime
    device: str
    kind: str
    site: str
    metric: str
    value: float | None
    unit: str
    severity: Severity
    message: str
    labels: Labels
    acknowledged_by: str | None
