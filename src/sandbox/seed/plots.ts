/** What a call is about. The agent speaks first and then every other turn. */
export interface Plot {
  purpose: string;
  sentiment: 'positive' | 'neutral' | 'negative';
  summary: string;
  points: readonly string[];
  action?: string;
  isUrgent: boolean;
  turns: readonly string[];
}

export const plots: readonly Plot[] = [
  {
    purpose: 'New appointment',
    sentiment: 'positive',
    summary: 'The customer booked a boiler inspection for Thursday morning.',
    points: ['Annual boiler inspection', 'Thursday between 8 and 10', 'Access through the side door'],
    isUrgent: false,
    turns: [
      'Brightwater, this is the front desk, how can I help?',
      'Hi, I would like to get my boiler inspected before the winter.',
      'Sure. We have Thursday morning, or Friday after two.',
      'Thursday works, the earlier the better.',
      'Then I put you down for eight to ten. Is there parking?',
      'Yes, and please come through the side door.',
    ],
  },
  {
    purpose: 'Billing question',
    sentiment: 'neutral',
    summary: 'The customer asked about a line on the invoice; the agent explained the weekend surcharge.',
    points: ['Invoice of last month', 'Weekend surcharge explained', 'Copy sent by e-mail'],
    action: 'Send a copy of the invoice by e-mail.',
    isUrgent: false,
    turns: [
      'Brightwater billing, good afternoon.',
      'I have an invoice here and there is a line that I do not understand.',
      'Let me open it. Is it the one about the weekend visit?',
      'Yes, there is a surcharge of forty-five dollars.',
      'That applies to visits on Sunday. I can send you the price list.',
      'Please do, and a copy of the invoice as well.',
    ],
  },
  {
    purpose: 'Emergency repair',
    sentiment: 'negative',
    summary: 'A pipe burst in the basement; a technician was sent at once.',
    points: ['Burst pipe, water on the floor', 'Main valve closed by the caller', 'Technician on the way'],
    action: 'Confirm that the technician arrived.',
    isUrgent: true,
    turns: [
      'Brightwater service, what is happening?',
      'There is water all over my basement, a pipe must have burst.',
      'Do you know where the main valve is? Please close it first.',
      'Wait. It is closed now, but there is so much water.',
      'Someone is twelve minutes away from you. Stay out of the basement until then.',
      'Please hurry.',
    ],
  },
  {
    purpose: 'Complaint',
    sentiment: 'negative',
    summary: 'The technician did not come in the agreed window; the customer wants a discount.',
    points: ['Missed appointment', 'Second time this year', 'Discount requested'],
    action: 'Service manager to call back about the discount.',
    isUrgent: true,
    turns: [
      'Brightwater service, good morning.',
      'I waited the whole day yesterday and nobody came.',
      'I am sorry. I see that the visit was moved; were you not told?',
      'No, and it is the second time. I want something off the bill.',
      'I will have the service manager call you today.',
      'I hope so, or I will look for another company.',
    ],
  },
  {
    purpose: 'Price inquiry',
    sentiment: 'positive',
    summary: 'The caller asked for an offer on a heat pump; a site visit was agreed.',
    points: ['Heat pump for a two-family house', 'Site visit next week', 'Tax credit mentioned'],
    action: 'Prepare the offer before the site visit.',
    isUrgent: false,
    turns: [
      'Brightwater sales, how can I help you?',
      'We are thinking about a heat pump and wonder what it would cost.',
      'For a house of that kind it starts at fourteen thousand, before the tax credit.',
      'That is less than I feared. Could someone look at the place?',
      'Gladly. Tuesday or Wednesday next week?',
      'Wednesday, in the afternoon.',
    ],
  },
  {
    purpose: 'Order status',
    sentiment: 'neutral',
    summary: 'The customer asked when the ordered radiator valve arrives.',
    points: ['Valve ordered two weeks ago', 'Delivery expected on Monday'],
    isUrgent: false,
    turns: [
      'Brightwater, good afternoon.',
      'I am calling about the radiator valve that you ordered for me.',
      'One moment. It is due on Monday.',
      'Good. Will someone call me when it is there?',
      'We will text you, and then agree on a time.',
      'Perfect, thank you.',
    ],
  },
  {
    purpose: 'Cancellation',
    sentiment: 'neutral',
    summary: 'The customer cancelled the maintenance contract because of a move.',
    points: ['Moving out of state', 'Contract ends with the month'],
    action: 'Confirm the cancellation in writing.',
    isUrgent: false,
    turns: [
      'Brightwater, this is the front desk.',
      'We are moving to Ohio, so I have to cancel our contract.',
      'I am sorry to hear it. It then ends with this month.',
      'Could you put that in writing?',
      'You will have it today.',
      'Thank you for everything.',
    ],
  },
];

/** What people say when the matter is settled and the call goes on. */
export const fillers: readonly string[] = [
  'Right.',
  'Okay, let me write that down.',
  'One moment please, the system is slow today.',
  'Yes, exactly.',
  'And the address is still the same?',
  'It is, on the corner, the house with the green door.',
  'Is there anything else?',
  'No, I think that is all.',
  'How is the new water heater doing?',
  'Very well, no complaints so far.',
];
