from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("web", "0004_parts"),
    ]

    operations = [
        migrations.AddField(
            model_name="panel",
            name="stands",
            field=models.JSONField(default=dict),
        ),
    ]
