"""The report as one HTML file: the report model's sections and charts, and every question with its rankings."""
