package main

// unwantedWords are mild ones: a list for real use is longer, and does not belong here.
const unwantedWords = "blasted blimey bloody crikey cripes damn damned dang darn drat fiddlesticks gosh heck phooey piffle poppycock rats shucks twaddle"

// sampleWords are some common words.
const sampleWords = `
a able about above absence accept access accident accommodate account achieve acquire across act action active actual add
address advance advice affect afraid after again against age agree air all almost along already also although always amateur
among amount ancient anger animal annual answer any apart apparent appear apply approach area argue argument arm arrive art article
as ask assassin at attempt author available avoid away awful baby back bad balance ball bank bargain base basic battle be beautiful
because become before begin beginning behind belief believe belong below benefit beside best better between beyond big bird
black blood bloody blow blue board boat body book born both bottom box boy branch bread break bridge brief bring broad brother build
burn business busy but buy by calendar call calm camp can capital captain car card care careful carry case catch category cause
cell cemetery center century certain chain chair chance change character charge chief child choose church circle city claim
class clean clear clock close cloth cloud coast cold collect colleague color column come committee common company compare
complete completely concern condition conscience conscious consider contain continue control cook cool copy corn corner correct
cost could country course cover create cross crowd cry current curtain cut damn dance danger dark daughter day dead deal death
decide deep definite definitely degree depend describe desert design desire detail develop did die difference different dig dinner
direct disappear disappoint discover discuss do doctor dog door double doubt down dozen draw dream dress drink drive drop dry during
each early earth ease east easy eat edge effect egg eight either electric embarrass empty end enemy energy engine enough enter
environment equal especially even evening event ever every exact example excellent except exercise existence expect experience
eye face fact fair fall familiar family famous far farm fast father favor fear feed feel feet few field fight figure fill final
find fine finger finish fire first fish fit five flat floor flow flower fly follow food foot for force foreign forest form forty
forward found four free fresh friend from front fruit full game garden gather gave general gentle get girl give glad glass go gold
gone good got govern government grammar grand grass gray great green ground group grow guarantee guard guess guide had hair half
hand happen happy harass hard has hat have he head hear heard heart heat heavy height held help her here heroes high hill him his
history hit hold hole home honest hope horse hot hour house how huge humor hundred hunt hurry i ice idea if imagine immediate
immediately in inch include independent indicate industry insect instead interest interrupt into invent iron is island it
job join joy judgment jump just keep kept key kill kind king knew know knowledge labor lady lake land language large last late
laugh law lay lead learn least leave led left leg leisure length less let letter level liaison library license lie life lift light
like line liquid list listen little live log lone long look lose loss lost lot loud love low machine made magnet main maintenance
make man many map mark market mass master match material matter may me mean meant measure meat medicine meet melody men message
metal method middle might mile milk million mind mine minute miss mix modern moment money month moon more morning most mother
motion mount mountain mouth move much multiply music must my name nation natural nature near necessary neck need neighbor
neither never new next night nine no noble noise noon nor north nose not note nothing notice noun now number object observe obtain
occasion occur occurred occurrence ocean of off offer office often oh oil old on once one only open operate opinion opposite or orange
order original other our out over own oxygen page paint pair paper paragraph parallel parent part particular party pass past
path pattern pay people perfect perhaps period person phrase pick picture piece place plain plan plane planet plant play please
plural poem point poor popular populate port pose position possess possession possible post pound power practice preferred prepare
present press pretty print privilege probable probably problem process produce product proper property protect prove provide pull
push put quart question questionnaire quick quiet quite quotient race radio rail rain raise ran range rate rather rats reach read
ready real really reason receive recommend record red refer reference region relevant religious remember repeat repetition reply
represent require rest result rhythm rich ride right ring rise river road rock roll room root rope rose round row rub rule run safe
said sail salt same sand sat save saw say scale schedule school science score sea search season seat second secret section see
seed seem segment seize select self sell send sense sent sentence separate serve set settle seven several shall shape share sharp she sheet
shell shine ship shoe shop shore short should shoulder shout show side sight sign silent silver similar simple since sing single
sister sit six size skill skin sky sleep slip slow small smell smile snow so soft soil soldier solution solve some son song soon
sound south space speak special speech speed spell spend spoke spot spread spring square stand star start state station stay stead
steam steel step stick still stone stood stop store story straight strange stream street strength stretch string strong student
study subject substance subtract success successful such sudden suffix sugar suggest suit summer sun supersede supply support sure
surface surprise swim syllable symbol system table tail take talk tall teach team teeth tell temperature ten tendency term test than
thank that the their them then there therefore these they thick thin thing think third this those though thought thousand threshold
through throw thus tie time tiny tire to together told tomorrow tone too took tool top total touch toward town track trade train travel
tree triangle trip trouble truck true truly try tube turn twelfth twenty two type tyranny under unfortunately unit until up use usual
usually vacuum valley value vary verb very view village visit voice vowel wait walk wall want war warm was wash watch water wave way we
wear weather wednesday week weight weird well went were west what wheel when where whether which while white who whole whose why wide
wife wild will win wind window wing winter wire wish with withhold woman women won wonder wood word work world would write
written wrong wrote yard year yellow yes yesterday yet yield you young your
`

// sampleTypos are errors that people make, in the form of codespell's list.
const sampleTypos = `
absense->absence
accomodate->accommodate
acheive->achieve
accross->across
adress->address
agressive->aggressive
amatuer->amateur
apparant->apparent
arguement->argument
assasin->assassin
begining->beginning
beleive->believe
belive->believe
buisness->business
calender->calendar
catagory->category
cemetary->cemetery
collegue->colleague
comittee->committee
completly->completely
concious->conscious
definately->definitely
desparate->desperate
dissapear->disappear
dissapoint->disappoint
embarass->embarrass
enviroment->environment
existance->existence
familar->familiar
foriegn->foreign
fourty->forty
freind->friend
goverment->government
grammer->grammar
gaurd->guard
harrass->harass
heros->heroes
immediatly->immediately
independant->independent
interupt->interrupt
knowlege->knowledge
liason->liaison
libary->library
maintainance->maintenance
neccessary->necessary
nieghbor->neighbor
occassion->occasion
occured->occurred
occurence->occurrence
paralel->parallel
posession->possession
prefered->preferred
privelege->privilege
probaly->probably
questionaire->questionnaire
realy->really
recieve->receive
recomend->recommend
relevent->relevant
religous->religious
repitition->repetition
rythm->rhythm
seperate->separate
seige->siege, seize
succesful->successful
supercede->supersede
suprise->surprise
tendancy->tendency
therefor->therefore
threshhold->threshold
tommorow->tomorrow
truely->truly
tyrany->tyranny
unfortunatly->unfortunately
untill->until
usualy->usually
wich->which
wierd->weird
writen->written
`
