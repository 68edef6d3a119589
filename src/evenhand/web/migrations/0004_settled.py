from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("web", "0003_frozen_state"),
    ]

    operations = [
        migrations.AddField(
            model_name="panel",
            name="settled",
            field=models.JSONField(default=dict),
        ),
    ]
