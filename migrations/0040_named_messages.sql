-- A thread is read down to the texts that events name, so these are known without opening the bodies again.
alter table ops.deliveries add column named text[] not null default '{}';
comment on column ops.deliveries.named is 'Texts that it names, each as "line/number[/participants] id"; the first thousand.';
