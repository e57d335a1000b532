"""The schemas of the records, for OpenAPI documents and tests; the records themselves are plain JSON."""

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict


class RecordSchema(BaseModel):
    """A schema without additional fields."""

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
    """The coordinates of an address, in degrees."""

    lat: float
    lon: float


class Address(RecordSchema):
    """The address of a customer's connection."""

    street: str
    city: str
    postal_code: str
    country: str
    floor: int | None
    location: Location | None


class Tariff(RecordSchema):
    """A customer's tariff; speeds in Mb/s, the fee in CZK per month."""

    code: str
    name: str
    download_mbps: int
    upload_mbps: int
    monthly_fee_czk: int


class CustomerDevice(RecordSchema):
    """A device at the customer's premises."""

    kind: str
    model: str
    serial: str
    is_rented: bool


class Company(RecordSchema):
    """The company that a customer buys for."""

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
    """The author of a ticket message."""

    role: Literal["agent", "customer"]
    name: str


class Attachment(RecordSchema):
    """A file attached to a message."""

    name: str
    bytes: int


class TicketMessage(RecordSchema):
    """One message of a ticket's conversation."""

    at: datetime
    author: Author
    text: str
    attachments: list[Attachment]


class TicketNote(RecordSchema):
    """An internal note."""

    at: datetime
    author: str
    text: str


class TicketDevice(RecordSchema):
    """The device that a ticket is about."""

    model: str
    serial: str
    firmware: str


class Assignee(RecordSchema):
    """The agent who works on a ticket."""

    id: int
    name: str
    team: str


class Resolution(RecordSchema):
    """How a ticket was resolved."""

    summary: str
    resolved_at: datetime


class Satisfaction(RecordSchema):
    """The customer's rating, from 1 (bad) to 5."""

    score: int
    comment: str | None


class Ticket(RecordSchema):
    """A support request with its conversation."""

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
    """A refund of a payment."""

    refunded_on: date
    amount: float
    reason: str


class Payment(RecordSchema):
    """An invoice and its payment."""

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
    """The delivery of a message."""

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
    """A report of a network device."""

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
