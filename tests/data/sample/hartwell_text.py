"""The words of the sample matter, Hartwell v. Northgate: an invented water-leak dispute.

Every person, firm, court, address and number is made up. A form feed ends a page; a line is one
paragraph, wrapped when it is drawn; a line that starts with ``^`` is centred. The transcript is
kept line by line because a transcript is cited by page and line.
"""

from __future__ import annotations

COMPLAINT = """\
^SUPERIOR COURT OF ALDER COUNTY
^Case No. 24-CV-01187
HARTWELL DESIGN STUDIO, INC., Plaintiff,
v.
NORTHGATE PROPERTY MANAGEMENT, LLC, Defendant.
^COMPLAINT FOR BREACH OF LEASE AND NEGLIGENCE
^Filed May 6, 2024
^THE PARTIES
1. Plaintiff Hartwell Design Studio, Inc. ("Hartwell") is a corporation with its place of business at 18 Alder Street, Suite 400.
2. Defendant Northgate Property Management, LLC ("Northgate") manages the building at 18 Alder Street.
3. Dana Reeves was at all relevant times Northgate's assistant property manager.
4. Samuel Osei was at all relevant times Northgate's director of facilities.
^THE LEASE
5. Hartwell and Northgate entered into a written lease on July 30, 2021 (the "Lease").
6. The base rent under the Lease is $18,400.00 per month.
7. Hartwell paid a security deposit of $36,800.00.
8. The Lease runs for a term of sixty (60) months.
9. Section 7.2 of the Lease provides that Landlord "shall begin repairs within ten (10) days after written notice."
\f10. Section 7.4 of the Lease provides that "Landlord shall not be liable for interruption of services unless caused by its negligence."
^THE LEAK
11. Water entered Suite 400 from the fourth-floor riser in January 2024.
12. Northgate had notice of the leak no later than January 9, 2024.
13. Northgate received written notice of the leak on January 23, 2024.
14. No repair began before February 19, 2024.
15. On Monday, February 13, 2024, the ceiling over the plan room collapsed.
16. Hartwell closed its plan room, its sample library and its reception from February 13, 2024 to April 30, 2024.
17. Hartwell employed 31 people in Suite 400 at the time of the collapse.
^FIRST CAUSE OF ACTION: BREACH OF LEASE
18. Northgate did not begin repairs in the time that Section 7.2 of the Lease allows.
19. Hartwell performed every duty that the Lease placed on it.
20. Hartwell paid Tidewell Restoration Co. to dry and rebuild the suite.
\f^SECOND CAUSE OF ACTION: NEGLIGENCE
21. Northgate knew of the failed riser coupling and did nothing for 41 days.
22. Hartwell suffered damages of not less than $1,250,000.00.
23. Of this sum, $65,750.00 is rent paid for rooms that could not be used.
^PRAYER
24. Hartwell asks for judgment against Northgate in the sum of $1,250,000.00, with interest at 7 percent a year from February 13, 2024.
Dated: May 6, 2024
Ingrid Lindqvist, Lindqvist & Marsh LLP, attorneys for Plaintiff
"""

LEASE = """\
^OFFICE LEASE
This Lease is made on July 30, 2021 between Northgate Property Management, LLC, as agent for the owner ("Landlord"), and Hartwell Design Studio, Inc. ("Tenant").
^ARTICLE 1: PREMISES AND TERM
1.1 Landlord leases to Tenant Suite 400 at 18 Alder Street, 9,200 rentable square feet (the "Premises").
1.2 The term is sixty (60) months and begins on September 1, 2021.
1.3 The term ends on August 31, 2026 unless it ends sooner under this Lease.
^ARTICLE 2: RENT
2.1 Tenant shall pay base rent of $18,400.00 on the first day of each month.
2.2 A payment that is more than five (5) days late bears a charge of 4 percent of the payment.
\f^ARTICLE 3: SECURITY DEPOSIT
3.1 Tenant has paid a security deposit of $36,800.00.
3.2 Landlord shall return the deposit within thirty (30) days after the term ends.
^ARTICLE 5: INSURANCE
5.1 Tenant shall carry commercial general liability insurance of not less than $2,000,000.00 for each occurrence.
5.2 Landlord shall insure the building against loss by fire and water.
\f^ARTICLE 7: REPAIRS
7.1 Landlord shall keep the roof, the risers and the structure of the building in good repair.
7.2 Landlord shall begin repairs within ten (10) business days after written notice from Tenant or from Landlord's own staff.
7.3 If Landlord does not begin repairs in that time, Tenant may repair and Landlord shall repay the reasonable cost within forty-five (45) days after an invoice.
7.4 Landlord shall not be liable for interruption of services unless caused by its gross negligence.
7.5 Base rent abates in proportion to the part of the Premises that cannot be used for more than three (3) consecutive days.
\f^ARTICLE 12: NOTICES
12.1 Notice is given in writing and takes effect when it is received.
12.2 An e-mail to the director of facilities is notice in writing for Article 7.
^ARTICLE 14: SIGNATURES
Signed for Landlord: Victor Almeida, vice president, July 30, 2021
Signed for Tenant: Clara Hartwell, president, July 30, 2021
"""

# 25 numbered lines a page, as court reporters print them.
TRANSCRIPT = """\
SUPERIOR COURT OF ALDER COUNTY
HARTWELL DESIGN STUDIO, INC. v.
NORTHGATE PROPERTY MANAGEMENT, LLC
Case No. 24-CV-01187

DEPOSITION OF DANA REEVES
Friday, March 14, 2025

Taken at the offices of Lindqvist & Marsh LLP

APPEARANCES
For Plaintiff: INGRID LINDQVIST
For Defendant: JONAS ABARA

Reported by Mei Tanaka, certified reporter
\f
DANA REEVES, having been sworn, testified as follows:
EXAMINATION BY MS. LINDQVIST
Q.  Please state your name for the record.
A.  Dana Reeves.
Q.  For whom did you work in January 2024?
A.  For Northgate. I was assistant property manager
at 18 Alder Street.
Q.  To whom did you report?
A.  To Samuel Osei, the director of facilities.
Q.  When did you first see water in Suite 400?
A.  On January 8, 2024, a Monday. There was water
on the floor of the plan room.
Q.  How many rooms had water that day?
A.  Two. The plan room and the sample library.
Q.  What did you do with that information?
MR. ABARA:  Objection, form.
THE WITNESS:  I wrote it in my log and the next
day I went to Mr. Osei's office.
BY MS. LINDQVIST:
Q.  Who else knew of it that week?
A.  The night guard. Nobody else, I believe.
Q.  Did you tell anyone outside Northgate?
A.  No.
Q.  When did you report the leak to facilities?
A.  I reported it to facilities on January 9,
\f
2024, and again on January 23, 2024.
Q.  Did you put either report in writing?
A.  The second time, yes.
Q.  And the first time?
A.  The first time I told Mr. Osei in person.
Q.  What did Mr. Osei say on January 9?
A.  He said, "Put a bucket under it and we will see."
Q.  Did anyone from facilities come to the suite
that week?
A.  No one came before January 16, 2024.
Q.  Did you see a repair order?
A.  I did not see one until February 19, 2024.
Q.  Was the riser on any list of known problems?
MR. ABARA:  Objection, foundation.
THE WITNESS:  It was on the 2022 list. The coupling
had been patched twice.
BY MS. LINDQVIST:
Q.  Patched by whom?
A.  By our own staff, in June 2022 and again in
March 2023.
Q.  What did the second patch cost?
A.  I remember $640. It was under the limit that
needs a signature.
Q.  What was that limit?
A.  $750 for one repair.
\f
EXAMINATION BY MR. ABARA
Q.  Ms. Reeves, you are not an engineer?
A.  No, I am not.
Q.  So you do not know what caused the leak?
A.  I know what the plumber told me.
Q.  Did Hartwell call you before January 16, 2024?
A.  Ms. Hartwell called on January 12, 2024.
Q.  How long was that call?
A.  Four minutes. She asked when somebody would
come.
Q.  What did you answer?
A.  That I had asked facilities and had no date.
Q.  You did not tell her the riser had been patched?
A.  I did not.
Q.  No further questions.
FURTHER EXAMINATION BY MS. LINDQVIST
Q.  Did Northgate tell you not to put things in
writing?
MR. ABARA:  Objection, privilege.
THE WITNESS:  Mr. Osei said e-mail was for things
that were already decided.
MS. LINDQVIST:  Nothing further.
(The deposition ended at 11:42 a.m.)
"""

OSEI_EMAIL = """\
From: Samuel Osei <s.osei@northgate.example>
To: Dana Reeves <d.reeves@northgate.example>
Cc: Victor Almeida <v.almeida@northgate.example>
Date: Tue, 16 Jan 2024 09:12:00 -0500
Subject: Water, fourth floor

Dana,

I first heard of water on the fourth floor this morning, January 16, 2024.
My guess is the roof drain. I do not think it is the riser.

Please keep the tenant calm. We have no budget line for this before
March 1, 2024, and anything over $5,000 needs Victor's signature.

Samuel

NG-000412
"""

REEVES_EMAIL = """\
From: Dana Reeves <d.reeves@northgate.example>
To: Samuel Osei <s.osei@northgate.example>
Date: Tue, 23 Jan 2024 16:47:00 -0500
Subject: Second report: leak in Suite 400

Samuel,

This is the second time I am reporting the leak in Suite 400. I told you in
person on January 9, 2024.

The water now reaches three rooms: the plan room, the sample library and the
reception. The plumber who looked at it today quoted $3,850.00 for a new
riser coupling.

Please treat this as notice in writing under the lease.

Dana

NG-000415
"""

INSPECTION = """\
^CALLOWAY BUILDING SCIENCES
^INSPECTION REPORT NO. CBS-2024-0217
Prepared for: Hartwell Design Studio, Inc.
Inspector: Priya Raman, P.E.
Date of report: February 27, 2024
^1. SCOPE
The site visit took place on Thursday, February 20, 2024, from 9:00 a.m. to 1:30 p.m.
We inspected the plan room, the sample library, the reception and the riser closet.
\f^2. OBSERVATIONS
2.1 The ceiling over the plan room had fallen over an area of 340 square feet.
2.2 Moisture in the gypsum board measured 38 percent at the riser closet and 11 percent at the north wall.
2.3 Three rooms show water damage: the plan room, the sample library and the reception.
\f^3. CAUSE
3.1 The leak came from a failed coupling on the fourth-floor riser.
3.2 The coupling carried two earlier patches of different age.
3.3 The roof drain was dry and sound and did not contribute.
3.4 In our opinion the coupling had leaked for at least five weeks before the ceiling fell.
\f^4. COST OF REPAIR
4.1 We put the cost of full repair at $1.2 million, of which $412,500.00 is for drying and demolition.
4.2 A new coupling in January 2024 would have cost less than $4,000.00.
4.3 The work should take 10 to 12 weeks.
Signed: Priya Raman, P.E., February 27, 2024
"""

# Columns: invoice, date, work, amount. The stated total is 9,000.00 over the sum of the rows.
INVOICE_ROWS = (
    ("TW-3301", "February 19, 2024", "Emergency pumping", "18,250.00"),
    ("TW-3308", "February 28, 2024", "Drying and demolition", "412,500.00"),
    ("TW-3322", "March 15, 2024", "Riser replacement", "61,000.00"),
    ("TW-3340", "March 29, 2024", "Framing and ceiling", "318,750.00"),
    ("TW-3351", "April 12, 2024", "Electrical", "186,000.00"),
    ("TW-3360", "April 30, 2024", "Finishes", "187,750.00"),
)

INVOICE_HEAD = """\
^TIDEWELL RESTORATION CO.
^STATEMENT OF INVOICES
Customer: Hartwell Design Studio, Inc., 18 Alder Street, Suite 400
Statement date: May 1, 2024
"""

INVOICE_FOOT = """\
Total of all invoices: $1,193,250.00
Paid by Hartwell on April 15, 2024: $500,000.00
The balance is due on February 30, 2024.
Interest of 1.5 percent a month runs on late balances.
"""

# What the camera saw: these pages have no text layer, so none of it can be cited without OCR.
SCANNED = (
    ("NORTHGATE WORK LOG", "RISER 4TH FLOOR", "JUNE 2022 PATCH", "NG-000031"),
    ("NORTHGATE WORK LOG", "RISER 4TH FLOOR", "MARCH 2023 PATCH", "NG-000032"),
    ("NORTHGATE WORK LOG", "PLAN ROOM", "SEE NIGHT GUARD NOTE", "NG-000033"),
)
