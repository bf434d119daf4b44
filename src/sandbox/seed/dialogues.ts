import type { Customer } from './customers.ts';

/** A text conversation: `>` from the customer, `<` from the company. */
export interface Dialogue {
  language: Customer['language'];
  turns: readonly string[];
}

export const dialogues: readonly Dialogue[] = [
  {
    language: 'en',
    turns: [
      '>Hi, is someone coming today between 2 and 4?',
      '<Yes, Owen is on his way and should be with you at 2:30.',
      '>great thanks 👍',
      '<You are welcome. He will text when he parks.',
    ],
  },
  {
    language: 'en',
    turns: [
      '>The radiator in the back room is cold again',
      '<Sorry to hear that. Is the valve fully open?',
      '>yes tried that twice',
      '<We can send someone tomorrow at 9. Does that work?',
      '>ok',
    ],
  },
  {
    language: 'en',
    turns: ['<Your invoice 20418 over $245.00 is ready. Reply with questions.', '>paid it yesterday, check pls'],
  },
  {
    language: 'en',
    turns: [
      '<Reminder: boiler inspection tomorrow 8–10 am. Reply C to confirm.',
      '>C',
      '<Confirmed, see you tomorrow.',
    ],
  },
  { language: 'en', turns: ['>STOP'] },
  {
    language: 'en',
    turns: [
      '>whats the price for a new faucet installed',
      '<From $180 with a standard faucet. Shall we call you?',
      '>3rd',
      '>sorry wrong chat 😅',
    ],
  },
  {
    language: 'en',
    turns: [
      '>Water is coming through the ceiling!! 🚨🚨',
      '<Close the main valve now. A technician is 12 minutes away.',
      '>closed. please hurry',
    ],
  },
  {
    language: 'en',
    turns: [
      '>Can you send the quote again? I can’t find the e-mail…',
      '<Just sent it. Please check the spam folder too.',
      '>“Got it” — thanks!',
    ],
  },
  {
    language: 'es',
    turns: [
      '>Hola, ¿pueden venir mañana por la tarde?',
      '<Claro que sí. ¿Le viene bien a las 15:30?',
      '>Perfecto, muchas gracias 🙏',
    ],
  },
  {
    language: 'es',
    turns: [
      '>El calentador hace un ruido extraño, ¿es peligroso?',
      '<Apáguelo por ahora, le llamamos en unos minutos.',
    ],
  },
  { language: 'he', turns: ['>שלום, מתי מגיע הטכנאי?', '<הוא אמור להגיע עד השעה 14:00.', '>תודה רבה!'] },
  { language: 'he', turns: ['>אפשר לקבוע תור ליום ראשון בבוקר?', '<כן, בשעה 9:30. מתאים?', '>מתאים מאוד 😊'] },
  {
    language: 'ar',
    turns: ['>مرحبا، هل يمكنكم إصلاح السخان اليوم؟', '<نعم، سيصل الفني بين الثالثة والخامسة.', '>شكراً جزيلاً'],
  },
  { language: 'ar', turns: ['>كم تكلفة تركيب مضخة حرارية؟', '<نرسل لكم عرض السعر اليوم.'] },
];

/** What is said in groups: tenants of one house, or a couple and the company. */
export const groupTurns: readonly string[] = [
  '>Hi all, the heating in the whole building is out since last night',
  '<Thanks for telling us. Owen will be there at 10.',
  '>same on the 3rd floor',
  '>4th floor too 🥶',
  '<The pump is replaced, please tell us if a radiator stays cold.',
  '>all warm again, thank you!',
];

export const reminders: readonly string[] = [
  'Reminder: your maintenance visit is on Thursday between 8 and 10.',
  'It is time for the yearly filter change. Shall we book a visit?',
];

export const openers: readonly string[] = dialogues.flatMap(({ turns }) =>
  turns.filter((turn) => turn.startsWith('>')).map((turn) => turn.slice(1)),
);

export const replies: readonly string[] = dialogues.flatMap(({ turns }) =>
  turns.filter((turn) => turn.startsWith('<')).map((turn) => turn.slice(1)),
);
