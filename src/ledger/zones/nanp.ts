/*
 * The zones of each area code of the North American Numbering Plan. An area that several zones share names them all:
 * quiet hours hold in each. Overlays and old assignments stand with their area, since a number is kept when its owner
 * moves a street away; where people took their number further, nobody can know.
 */

const areas: Readonly<Record<string, string>> = {
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

const zonesOf = new Map<string, string[]>();
for (const [zone, codes] of Object.entries(areas)) {
  for (const code of codes.trim().split(/\s+/)) {
    const zones = zonesOf.get(code) ?? [];
    if (!zones.includes(zone)) zones.push(zone);
    zonesOf.set(code, zones);
  }
}

/** An area code that is not listed may lie anywhere on the continent, or on Hawaii. */
const anywhere = [
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

/** The zones of a number in the plan: 1, area code and seven digits. */
export function nanpZones(number: string): readonly string[] {
  return zonesOf.get(number.slice(1, 4)) ?? anywhere;
}

/** Every zone that the plan names. */
export const allNanpZones: readonly string[] = [...new Set([...Object.keys(areas), ...anywhere])];
