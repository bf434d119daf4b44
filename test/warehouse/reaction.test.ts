import { expect, test } from 'vitest';
import { writeThreads } from '../../src/warehouse/conversations.ts';
import { isReaction, optOutVerdict } from '../../src/warehouse/opt-out.ts';
import { factsDatabase } from '../reporting/facts.ts';
import { ignored, textsRead } from './reads.ts';

const facts = await factsDatabase();

const ours = 'We are open now. Reply STOP to opt out';

/** Reactions, with `…` for the text of ours that they quote. */
const reactions = `
  Liked “…”; Liked "…"; liked “…”; Loved “…”; Disliked “…”; Laughed at “…”; Emphasized “…”; Emphasised “…”; Questioned “…”
  Removed a like from “…”; Removed a heart from “…”; Removed an exclamation from “…”; Removed a question mark from “…”
  Reacted 👍 to “…”; Reacted ❤️ to “…”; Reacted with a sticker to “…”; Removed 👍🏽 from “…”; 👍 to “…”; 👍 to “ … ”; ‼️ to “…”
  👨‍👩‍👧 to “…”; 🇺🇸 to “…”; 👍 “See you at five”; 👍 a “…”; 👍 à « … »; 👍 zu „…“; 👍 para “…”; 👍 на «…»; Le gustó “…”
  Le encantó “…”; No le gustó “…”; Le dio risa “…”; Exclamó por “…”; Dudó sobre “…”; Reaccionó con 😂 a “…”; A aimé « … »
  A adoré « … »; N’a pas aimé « … »; A réagi avec 👍 à « … »; Gefällt „…“; Gefällt nicht „…“; Hat ein Herz von „…“ entfernt
  Ha messo mi piace a “…”; Ha riso per “…”; Ha rimosso un cuore da “…”; Gostou de “…”; Não gostou de “…”
  Achou “…” engraçado; Vond “…” leuk; Gillade ”…”; Понравилось «…»; 「…」にいいねしました; Liked “Reply “STOP” to end”
  Liked "Reply "STOP" to end, or "HELP""; Liked ‘we’re open’; Liked “￼”; Liked an image; Loved a movie
  Laughed at an attachment; Removed a heart from an image; Reacted 😂 to a photo; 👍 to an image; Le gustó una imagen
  A aimé une image; Gefällt ein Bild; Gostou de uma imagem; Ha messo mi piace a un’immagine`
  .split(/[;\n]/)
  .flatMap((text) => text.trim().replace('…', ours) || []);

test.each([
  ...reactions,
  `\u200a\u200b👍\u200b to \u201c\u200a${ours}\u200a\u201d`,
  `A aimé «\u00a0${ours}\u00a0»`,
  `Liked “two\nlines. Reply STOP”`,
])('is a reaction, and opts nobody out: %s', (text) => {
  expect([isReaction(text), optOutVerdict(text)]).toEqual([true, 'none']);
});

test.each([
  ['Liked it, please STOP', 'unsure'],
  ['Loved your service', 'none'],
  ['Loved', 'none'],
  ['Liked', 'none'],
  ['👍', 'none'],
  ['👍 STOP', 'opt_out'],
  ['👍 to that', 'none'],
  ['Loved the image you sent', 'none'],
  ['Loved an image of your shop and want one', 'none'],
  ['Liked “it”, now STOP', 'unsure'],
  ['Disliked “your service”, so “STOP”', 'unsure'],
  ['Disliked "your service", so "STOP"', 'unsure'],
  ['Liked “See you at 5” 🛑', 'unsure'],
  ['Liked “STOP”', 'unsure'],
  ['Questioned "stop"', 'unsure'],
  ['🛑 “STOP”', 'opt_out'],
  ['😡 "Stop texting me"', 'unsure'],
  ['I said “STOP”', 'unsure'],
  ['Your “Reply STOP to opt out” does not work', 'unsure'],
  ['My wife liked “the blue one”', 'none'],
  ['“Liked”', 'none'],
  ['Liked “', 'none'],
  ['', 'none'],
])('is no reaction: %s', (text, verdict) => {
  expect([isReaction(text), optOutVerdict(text)]).toEqual([false, verdict]);
});

test('a reaction is no last text of its thread', async () => {
  const texts = [
    { id: 1, direction: 'in', text: 'Are you open?', sentAt: '2026-04-21T00:00:00Z' },
    { id: 2, direction: 'out', text: ours, sentAt: '2026-04-21T00:01:00Z' },
    { id: 3, direction: 'in', text: `Liked “${ours}”`, sentAt: '2026-04-21T00:02:00Z' },
    { id: 4, direction: 'out', text: 'Liked “this”', sentAt: '2026-04-21T00:00:30Z' },
  ];
  const read = textsRead(
    1,
    texts.map((each) => ({ from: '1', to: '2', ...each })),
  );
  await facts.db.transaction().execute((tx) => writeThreads(tx, ignored, [read]));
  const reactions = 'select is_reaction from warehouse.sms_messages order by message_id';
  await facts.expectRows(reactions).toEqual(['false', '-', 'true', '-']);
  await facts
    .expectRows(
      'select last_direction, message_count, last_message_at, last_inbound_at from warehouse.sms_conversations',
    )
    .toEqual(['out | 4 | 2026-04-21T00:01:00Z | 2026-04-21T00:00:00Z']);
});
