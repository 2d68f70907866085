"""Web Push to the browsers of people who allowed it."""
