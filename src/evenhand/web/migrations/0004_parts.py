from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("web", "0003_frozen_state"),
    ]

    operations = [
        migrations.AddField(
            model_name="correction",
            name="of",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="panel",
            name="part",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="frozen",
            name="known",
            field=models.JSONField(default=dict),
        ),
    ]
