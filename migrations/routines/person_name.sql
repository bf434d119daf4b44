-- The name of a caller as it was shown. NULL for the placeholder of a carrier (WIRELESS CALLER, TOLL FREE CALL, V and digits), for a place
-- (SEATTLE WA, Ontario), and for a number.
create or replace function reporting.person_name(shown text) returns text
language plpgsql immutable strict parallel safe as $$
  -- Carriers fill the name of a caller whom they don't know with a placeholder, the place of the number, or the number. In PL/pgSQL,
  -- where the lists are read once in a session: views call it for each row.
declare
  plain text := upper(left(shown, 200));
  words text[];
begin
  -- Most names are letters and single spaces alone, and so plain already.
  if plain !~ '^[A-Z]+( [A-Z]+)*$' then
    plain := trim(regexp_replace(translate(plain, 'ÀÂÉÈÊÍÓÔÚÑ', 'AAEEEIOOUN'), '[^A-Z0-9\u00c0-\uffff\U00010000-\U0010ffff]+', ' ', 'g'));
    if translate(plain, '0123456789 ', '') = '' or length(shown) - length(translate(shown, '0123456789', '')) >= 7 or plain ~ '^V ?\d{5}' then
      return null;
    end if;
  end if;
  words := string_to_array(plain, ' ');
  return case
    when plain in ('N A', 'GOOGLE VOICE') then null
    -- Words of placeholders alone, and at least one that is never a name.
    when words <@ '{WIRELESS,CELL,CELLULAR,MOBILE,UNKNOWN,UNAVAILABLE,UNIDENTIFIED,UNLISTED,UNASSIGNED,ANONYMOUS,PRIVATE,
    RESTRICTED,BLOCKED,WITHHELD,SUPPRESSED,HIDDEN,TOLL,TOLLFREE,AVAILABLE,PROVIDED,NAME,NUMBER,CALLER,CALLERS,
    CALLERID,CALL,CALLS,ID,PHONE,PAYPHONE,SPAM,SPAMMER,SCAM,FRAUD,RISK,ROBOCALL,ROBOCALLER,TELEMARKETER,
    TELEMARKETING,LANDLINE,VOIP,PREPAID,AREA,UNDEFINED,"NULL",NONE,INCONNU,PRIVE,ANONYME,APPEL,APPELANT,NOM,
    NUMERO,DESCONOCIDO,DESCONOCIDA,PRIVADO,PRIVADA,LLAMADA,UNBEKANNT,ANONYM,
    VERIZON,PCS,CONFERENCE,TEXT,
    FREE,OUT,OF,NOT,NO,PAY,LIKELY,POTENTIAL,POSSIBLE,SUSPECTED,SUSPICIOUS,NUISANCE,LONG,DISTANCE,
    INTERNATIONAL,INCOMING,DISPLAY,DATA,INFO,SURVEY,A,N,
    T,US,BOOST,CRICKET,METRO,SPRINT,XFINITY}'::text[]
      and not words <@ '{FREE,OUT,OF,NOT,NO,PAY,LIKELY,POTENTIAL,POSSIBLE,SUSPECTED,SUSPICIOUS,NUISANCE,LONG,DISTANCE,
    INTERNATIONAL,INCOMING,DISPLAY,DATA,INFO,SURVEY,A,N,
    T,US,BOOST,CRICKET,METRO,SPRINT,XFINITY}'::text[] then null
    -- A place with the code of its state or province in capital letters, SEATTLE WA; or one of these.
    when cardinality(words) > 1 and right(rtrim(shown), 2) = words[cardinality(words)] and position('&' in shown) = 0
      and words[cardinality(words)] = any('{AL,AK,AZ,AR,CA,CO,CT,DC,DE,FL,GA,HI,IA,ID,IL,IN,KS,KY,LA,MA,MD,ME,MI,MN,MO,MS,MT,NC,ND,
    NE,NH,NJ,NM,NV,NY,OH,OK,OR,PA,PR,RI,SC,SD,TN,TX,UT,VA,VT,WA,WI,WV,WY,AB,BC,MB,NB,NL,NS,
    NT,NU,ON,PE,QC,SK,YT}'::text[]) then null
    when plain = any('{ALABAMA,ALASKA,ARIZONA,ARKANSAS,CALIFORNIA,COLORADO,CONNECTICUT,DELAWARE,DISTRICT OF COLUMBIA,FLORIDA,
    GEORGIA,HAWAII,IDAHO,ILLINOIS,INDIANA,IOWA,KANSAS,KENTUCKY,LOUISIANA,MAINE,MARYLAND,MASSACHUSETTS,
    MICHIGAN,MINNESOTA,MISSISSIPPI,MISSOURI,MONTANA,NEBRASKA,NEVADA,NEW HAMPSHIRE,NEW JERSEY,NEW MEXICO,
    NEW YORK,NORTH CAROLINA,NORTH DAKOTA,OHIO,OKLAHOMA,OREGON,PENNSYLVANIA,PUERTO RICO,RHODE ISLAND,
    SOUTH CAROLINA,SOUTH DAKOTA,TENNESSEE,TEXAS,UTAH,VERMONT,VIRGINIA,WASHINGTON,WEST VIRGINIA,WISCONSIN,
    WYOMING,ALBERTA,BRITISH COLUMBIA,MANITOBA,NEW BRUNSWICK,NEWFOUNDLAND,NEWFOUNDLAND AND LABRADOR,NOVA SCOTIA,
    ONTARIO,PRINCE EDWARD ISLAND,QUEBEC,SASKATCHEWAN,YUKON,NUNAVUT,NORTHWEST TERRITORIES,USA,US,UNITED STATES,
    CANADA,MEXICO,UNITED KINGDOM}'::text[]) then null
    else trim(shown)
  end;
end
$$;
