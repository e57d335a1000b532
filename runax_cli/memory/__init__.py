"""What is remembered: of this turn (`working`), of the conversation (`history`), and on disk (`journal`)."""
