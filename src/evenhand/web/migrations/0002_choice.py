from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("web", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="panel",
            name="choice",
            field=models.JSONField(default=dict),
        ),
    ]
