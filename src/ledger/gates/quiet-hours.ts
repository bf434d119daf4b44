import type { QuietHours } from '../limits.ts';

const minuteMs = 60_000;
const dayMinutes = 1_440;

/** Upper bound, in minutes, of a clock change such as daylight saving. */
const maxClockShift = 180;

/** How many days ahead an allowed moment is searched. */
const maxDays = 3;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Minutes since local midnight in a time zone. */
function localMinute(at: number, zone: string): number {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  formats.set(zone, format);
  const text = format.format(at);
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));
}

/**
 * The first moment from `now` on that is within the quiet hours of none of the zones: `now` itself, or a full minute.
 * Undefined when there is none within three days. Local time decides, across clock changes.
 */
export function firstAllowedMoment(now: Date, zones: readonly string[], quiet: QuietHours): Date | undefined {
  const from = minuteOf(quiet.from);
  const to = minuteOf(quiet.to);
  const left = (minute: number) => (isWithin(minute, from, to) ? (to - minute + dayMinutes) % dayMinutes : 0);
  const quietFor = (at: number) => Math.max(0, ...zones.map((zone) => left(localMinute(at, zone))));
  if (quietFor(now.getTime()) === 0) return now;
  let at = Math.ceil((now.getTime() + 1) / minuteMs) * minuteMs;
  const end = at + maxDays * dayMinutes * minuteMs;
  while (at <= end) {
    const minutes = quietFor(at);
    if (minutes === 0) return new Date(at);
    // A clock change may come before the end: step through the last hours minute by minute.
    at += Math.max(1, minutes - maxClockShift) * minuteMs;
  }
  return undefined;
}

function isWithin(minute: number, from: number, to: number): boolean {
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to;
}

function minuteOf(time: string): number {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time);
  if (!match) throw new Error(`quiet hours are written HH:MM, got ${JSON.stringify(time)}`);
  return Number(match[1]) * 60 + Number(match[2]);
}

/** The time zones that the owner of a normalised number may be in; none for an unknown country code. */
export function zonesOfNumber(number: string): readonly string[] {
  if (number.startsWith('1') && number.length === 11) return zonesByArea.get(number.slice(1, 4)) ?? unknownAreaZones;
  for (let length = longestPrefix; length > 0; length -= 1) {
    const zones = zonesByPrefix.get(number.slice(0, length));
    if (zones) return zones;
  }
  return [];
}

/** An area code of +1 that is not listed may be anywhere on the continent or on Hawaii. */
const unknownAreaZones = [
  'America/St_Johns',
  'America/Halifax',
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Phoenix',
  'America/Los_Angeles',
  'America/Anchorage',
  'Pacific/Honolulu',
];

/**
 * The area codes of +1 by time zone. An area in several zones stands under each of them, and quiet hours hold in all.
 * Overlays and former assignments stand with their area, because people keep a number when they move nearby.
 */
const areasByZone: Readonly<Record<string, string>> = {
  'America/New_York': `201 202 203 207 212 215 216 220 223 227 229 234 239 240 252 267 272 276 283 301 302 304 305 315 321 324 326
    329 330 332 336 339 340 347 351 352 363 380 386 401 404 407 410 412 413 419 423 434 436 440 443 445 448 465
    470 472 475 478 484 508 513 516 518 540 551 561 567 570 571 582 585 603 607 609 610 614 617 624 631 640 645
    646 656 667 678 680 681 686 689 703 704 706 716 717 718 724 727 728 729 732 740 743 754 757 762 770 771 772
    774 781 786 802 803 804 813 814 821 826 828 835 838 839 843 845 848 850 854 856 857 860 862 863 864 865 878
    904 908 910 912 914 917 919 929 934 937 941 943 947 948 954 959 973 978 980 984 989`,
  'America/Detroit': '231 248 269 313 517 586 616 679 734 810 906 947 989',
  'America/Indiana/Indianapolis': '219 260 317 463 574 765 812 930',
  'America/Kentucky/Louisville': '270 364 502 606 859',
  'America/Chicago': `205 210 214 217 218 219 224 225 228 235 251 254 256 260 262 269 270 274 281 308 309 312 314 316 318 319 320
    325 327 331 334 337 346 353 361 364 402 405 409 414 417 423 430 432 447 448 457 463 464 469 471 479 483 501
    504 507 512 515 531 534 539 557 563 572 573 574 580 601 605 608 612 615 618 620 621 629 630 636 641 651 659
    660 662 682 701 708 712 713 715 726 729 730 731 737 763 765 769 773 779 785 806 812 815 816 817 830 832 847
    850 861 870 872 901 903 906 913 915 918 920 924 930 931 936 938 940 945 952 956 972 975 979 985`,
  'America/Denver': `208 303 307 308 385 402 406 432 435 458 505 541 575 580 605 620 701 719 720 748 775 785 801 806 915 928 970
    983 986`,
  'America/Boise': '208 458 541 986',
  'America/Phoenix': '480 520 602 623 928',
  'America/Los_Angeles': `206 208 209 213 253 279 310 323 341 350 357 360 369 408 415 424 425 442 458 503 509 510 530 541 559 562 564
    619 626 628 650 657 661 669 702 707 714 725 738 747 760 775 805 818 820 831 837 840 858 909 916 925 949 951
    971 986`,
  'America/Anchorage': '907',
  'America/Adak': '907',
  'Pacific/Honolulu': '808',
  'America/St_Johns': '709 879 867',
  'America/Halifax': '506 709 782 851 879 902 428',
  'America/Toronto': `226 249 263 289 343 354 365 367 382 416 418 437 438 450 468 514 519 548 579 581 613 647 683 705 742 753
    807 819 867 873 905 942`,
  'America/Winnipeg': '204 431 584 807 867',
  'America/Regina': '306 474 639',
  'America/Edmonton': '306 368 403 474 587 639 780 825 867 250 778 236 672 257',
  'America/Vancouver': '236 250 257 604 672 778',
  'America/Whitehorse': '867',
  'America/Puerto_Rico': '264 268 284 340 473 664 721 758 767 784 787 868 869 939',
  'Atlantic/Bermuda': '441',
  'America/Grand_Turk': '649',
  'America/Barbados': '246',
  'America/Nassau': '242',
  'America/Jamaica': '658 876',
  'America/Panama': '345',
  'America/Santo_Domingo': '809 829 849',
  'Pacific/Guam': '670 671',
  'Pacific/Pago_Pago': '684',
};

/**
 * Country codes by their time zones, and longer prefixes where part of a country has its own; the longest prefix counts. Of
 * many zones, those are listed that differ in their clocks.
 */
const prefixesByZones: Readonly<Record<string, string>> = {
  'Africa/Cairo': '20',
  'Africa/Juba': '211',
  'Africa/Casablanca Africa/El_Aaiun': '212',
  'Africa/Algiers': '213',
  'Africa/Tunis': '216',
  'Africa/Tripoli': '218',
  'Africa/Abidjan': '220 221 222 223 224 225 226 228 232 233 247 290 354',
  'Africa/Lagos': '227 229 234 236 237 240 241 242 244',
  'Indian/Mauritius': '230',
  'Africa/Monrovia': '231',
  'Africa/Ndjamena': '235',
  'Atlantic/Cape_Verde': '238',
  'Africa/Sao_Tome': '239',
  'Africa/Lagos Africa/Maputo': '243',
  'Africa/Bissau': '245',
  'Indian/Chagos': '246',
  'Asia/Dubai': '248 968 971',
  'Africa/Khartoum': '249',
  'Africa/Maputo': '250 257 258 260 263 265 267',
  'Africa/Nairobi': '251 252 253 254 255 256 261 269 291',
  'Asia/Dubai Africa/Nairobi': '262',
  'Africa/Windhoek': '264',
  'Africa/Johannesburg': '266 268 27',
  'America/Puerto_Rico': '297 590 599',
  'Atlantic/Faroe': '298',
  'America/Nuuk America/Danmarkshavn America/Scoresbysund America/Thule': '299',
  'Europe/Athens': '30',
  'Europe/Brussels': '31 32 352',
  'Europe/Paris': '33 377',
  'Europe/Madrid Africa/Ceuta Atlantic/Canary': '34',
  'Europe/Gibraltar': '350',
  'Europe/Lisbon Atlantic/Madeira Atlantic/Azores': '351',
  'Europe/Dublin': '353',
  'Europe/Tirane': '355',
  'Europe/Malta': '356',
  'Asia/Nicosia Asia/Famagusta': '357',
  'Europe/Helsinki': '358',
  'Europe/Sofia': '359',
  'Europe/Budapest': '36',
  'Europe/Vilnius': '370',
  'Europe/Riga': '371',
  'Europe/Tallinn': '372',
  'Europe/Chisinau': '373',
  'Asia/Yerevan': '374',
  'Europe/Minsk': '375',
  'Europe/Andorra': '376',
  'Europe/Rome': '378 379 39',
  'Europe/Kyiv Europe/Simferopol': '380',
  'Europe/Belgrade': '381 382 383 385 386 387 389',
  'Europe/Bucharest': '40',
  'Europe/Zurich': '41 423',
  'Europe/Prague': '420 421',
  'Europe/Vienna': '43',
  'Europe/London': '44',
  'Europe/Berlin': '45 46 47 49',
  'Europe/Warsaw': '48',
  'Atlantic/Stanley Atlantic/South_Georgia': '500',
  'America/Belize': '501',
  'America/Guatemala': '502',
  'America/El_Salvador': '503',
  'America/Tegucigalpa': '504',
  'America/Managua': '505',
  'America/Costa_Rica': '506',
  'America/Panama': '507',
  'America/Miquelon': '508',
  'America/Port-au-Prince': '509',
  'America/Lima': '51',
  'America/Mexico_City America/Cancun America/Merida America/Monterrey America/Matamoros America/Chihuahua America/Ciudad_Juarez America/Ojinaga America/Mazatlan America/Bahia_Banderas America/Hermosillo America/Tijuana':
    '52',
  'America/Havana': '53',
  'America/Argentina/Buenos_Aires America/Argentina/Ushuaia': '54',
  'America/Noronha America/Sao_Paulo America/Fortaleza America/Cuiaba America/Manaus America/Rio_Branco': '55',
  'America/Santiago America/Punta_Arenas America/Coyhaique Pacific/Easter': '56',
  'America/Bogota': '57',
  'America/Caracas': '58',
  'America/La_Paz': '591',
  'America/Guyana': '592',
  'America/Guayaquil Pacific/Galapagos': '593',
  'America/Cayenne': '594',
  'America/Asuncion': '595',
  'America/Martinique': '596',
  'America/Paramaribo': '597',
  'America/Montevideo': '598',
  'Asia/Kuching Asia/Singapore': '60',
  'Australia/Sydney Australia/Lord_Howe Australia/Brisbane Australia/Adelaide Australia/Darwin Australia/Broken_Hill Australia/Perth Australia/Eucla Indian/Christmas Indian/Cocos':
    '61',
  'Asia/Jakarta Asia/Makassar Asia/Jayapura': '62',
  'Asia/Manila': '63',
  'Pacific/Auckland Pacific/Chatham Pacific/Pitcairn': '64',
  'Asia/Singapore': '65',
  'Asia/Bangkok': '66 855 856',
  'Asia/Dili': '670',
  'Pacific/Norfolk Antarctica/Casey Antarctica/Davis Antarctica/Mawson': '672',
  'Asia/Kuching': '673',
  'Pacific/Nauru': '674',
  'Pacific/Port_Moresby Pacific/Bougainville': '675',
  'Pacific/Tongatapu': '676',
  'Pacific/Guadalcanal': '677',
  'Pacific/Efate': '678',
  'Pacific/Fiji': '679',
  'Pacific/Palau': '680',
  'Pacific/Tarawa': '681 688',
  'Pacific/Rarotonga': '682',
  'Pacific/Niue': '683',
  'Pacific/Apia': '685',
  'Pacific/Tarawa Pacific/Kanton Pacific/Kiritimati': '686',
  'Pacific/Noumea': '687',
  'Pacific/Tahiti Pacific/Marquesas Pacific/Gambier': '689',
  'Pacific/Fakaofo': '690',
  'Pacific/Port_Moresby Pacific/Guadalcanal Pacific/Kosrae': '691',
  'Pacific/Tarawa Pacific/Kwajalein': '692',
  'Europe/Kaliningrad Europe/Moscow Europe/Samara Europe/Volgograd Asia/Yekaterinburg Asia/Omsk Asia/Novosibirsk Asia/Krasnoyarsk Asia/Irkutsk Asia/Yakutsk Asia/Vladivostok Asia/Magadan Asia/Sakhalin Asia/Kamchatka Asia/Anadyr':
    '7',
  'Asia/Almaty Asia/Qyzylorda Asia/Qostanay Asia/Aqtobe Asia/Aqtau Asia/Atyrau Asia/Oral': '76 77',
  'Europe/Kaliningrad': '7401',
  'Europe/Moscow': '7495 7498 7499 7812',
  'Asia/Tokyo': '81',
  'Asia/Seoul': '82',
  'Asia/Ho_Chi_Minh': '84',
  'Asia/Pyongyang': '850',
  'Asia/Hong_Kong': '852',
  'Asia/Macau': '853',
  'Asia/Shanghai Asia/Urumqi': '86',
  'Asia/Dhaka': '880',
  'Asia/Taipei': '886',
  'Europe/Istanbul': '90',
  'Asia/Kolkata': '91',
  'Asia/Karachi': '92',
  'Asia/Kabul': '93',
  'Asia/Colombo': '94',
  'Asia/Yangon': '95',
  'Indian/Maldives': '960',
  'Asia/Beirut': '961',
  'Asia/Amman': '962',
  'Asia/Damascus': '963',
  'Asia/Baghdad': '964',
  'Asia/Riyadh': '965 966 967',
  'Asia/Gaza Asia/Hebron Asia/Jerusalem': '970',
  'Asia/Jerusalem Asia/Gaza Asia/Hebron': '972',
  'Asia/Qatar': '973 974',
  'Asia/Thimphu': '975',
  'Asia/Ulaanbaatar Asia/Hovd': '976',
  'Asia/Kathmandu': '977',
  'Asia/Tehran': '98',
  'Asia/Dushanbe': '992',
  'Asia/Ashgabat': '993',
  'Asia/Baku': '994',
  'Asia/Tbilisi': '995',
  'Asia/Bishkek': '996',
  'Asia/Tashkent Asia/Samarkand': '998',
};

const zonesByArea = new Map<string, string[]>();
for (const [zone, areas] of Object.entries(areasByZone)) {
  for (const area of new Set(areas.split(/\s+/))) zonesByArea.set(area, [...(zonesByArea.get(area) ?? []), zone]);
}
const zonesByPrefix = new Map(
  Object.entries(prefixesByZones).flatMap(([zones, prefixes]) =>
    prefixes.split(' ').map((prefix) => [prefix, zones.split(' ')] as const),
  ),
);
const longestPrefix = Math.max(...[...zonesByPrefix.keys()].map(({ length }) => length));

/** Every zone that a number can have. */
export const allZones: readonly string[] = [
  ...new Set([...unknownAreaZones, ...Object.keys(areasByZone), ...[...zonesByPrefix.values()].flat()]),
].sort();
