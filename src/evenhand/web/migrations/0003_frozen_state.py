from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("web", "0002_choice"),
    ]

    operations = [
        migrations.AddField(
            model_name="frozen",
            name="state",
            field=models.CharField(blank=True, default="", max_length=32),
        ),
    ]
