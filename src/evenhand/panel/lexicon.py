"""Words of seven languages by which columns, scores, confidences and empty cells are recognised: nothing but words.

English, German, French, Spanish, Italian, Portuguese and Dutch, folded as by :func:`evenhand.panel.headings.fold`:
lower case, without accents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text; an underscore stands for a space."""
    return tuple(word.replace("_", " ") for word in text.split())


NOUNS: Final = _words(
    "object proposal paper submission candidate student applicant application entry entrant item essay script work "
    "project abstract manuscript article poster thesis dissertation portfolio nominee nomination pupil contestant "
    "competitor participant presentation talk dish cake wine beer film photo startup team product sample contribution "
    "case idea pitch tender assignment coursework performance skater athlete recipe bake coffee response gradee "
    "question target answer "
    "finalist grant option animal plant dog song book cheese"
)
"""English words for what is assessed, in the singular: sentences speak of it so."""

THINGS: Final = NOUNS + _words(
    "antrag projekt kandidat kandidatin bewerber bewerberin bewerbung beitrag einreichung arbeit objekt artikel "
    "studierende studentin schuler schulerin teilnehmer teilnehmerin prufling klausur aufsatz vorhaben vortrag kuchen "
    "entwurf wein antragsnummer forderantrag "
    "projet dossier candidat candidate candidature objet proposition soumission etudiant etudiante eleve copie travail "
    "memoire vin oeuvre "
    "propuesta proyecto candidato candidata solicitud trabajo articulo objeto estudiante alumno alumna ponencia "
    "aspirante obra concursante vino "
    "proposta progetto domanda lavoro articolo oggetto studente elaborato concorrente tesi "
    "projeto candidatura trabalho artigo estudante aluno aluna resumo submissao vinho concorrente "
    "voorstel aanvraag kandidaat inzending werkstuk leerling scriptie deelnemer wijn"
)
"""Words for what is assessed, in the singular."""

PEOPLE: Final = _words(
    "assessor reviewer judge marker grader rater examiner referee evaluator panellist panelist interviewer scorer "
    "annotator juror voter taster critic reader coder peer tutor worker expert experte expertin pc_member jury_member "
    "panel_member committee_member "
    "reviewed_by scored_by graded_by marked_by judged_by assessed_by rated_by evaluated_by "
    "gutachter gutachterin begutachter bewerter bewerterin jurorin jurymitglied prufer pruferin korrektor korrektorin "
    "bewertende rezensent juroren fachgutachter "
    "evaluateur evaluatrice examinateur examinatrice relecteur relectrice rapporteur rapporteuse jure juree juge "
    "correcteur correctrice membre_du_jury "
    "evaluador evaluadora revisor revisora juez jueza jurado jurada examinador examinadora calificador corrector "
    "correctora arbitro "
    "valutatore valutatrice revisore giudice esaminatore giurato commissario "
    "avaliador avaliadora juiz juiza parecerista "
    "beoordelaar jurylid examinator rechter recensent"
)
"""Words for who assesses, in the singular."""

SELF: Final = _words(
    "your_name name_of_reviewer ihr_name dein_name votre_nom su_nombre tu_nombre il_tuo_nome seu_nome uw_naam je_naam "
    "email e_mail email_address e_mail_address mail username user e_mail_adresse adresse_e_mail adresse_mail "
    "correo_electronico direccion_de_correo_electronico indirizzo_email endereco_de_email e_mailadres nombre_de_usuario"
)
"""Names of a column in which those who fill in a form say who they are."""

MAIL: Final = frozenset(
    _words(
        "email e_mail mail email_address e_mail_address e_mail_adresse adresse_e_mail adresse_mail correo_electronico "
        "direccion_de_correo_electronico indirizzo_email endereco_de_email e_mailadres"
    )
)

SCORES: Final = _words(
    "score mark grade rating vote points overall total score_value raw_score overall_score overall_mark overall_grade "
    "overall_rating overall_merit overall_evaluation overall_recommendation overall_assessment total_score total_mark "
    "total_points final_score final_mark review_score review_rating recommendation evaluation verdict estimate "
    "punkte punktzahl bewertung gesamtnote gesamtbewertung gesamtpunktzahl wertung punktwert gesamtpunkte "
    "gesamturteil endnote empfehlung "
    "note note_globale note_finale evaluation_globale appreciation note_sur_20 points_obtenus "
    "puntuacion puntaje nota calificacion puntos valoracion nota_final puntuacion_total puntuacion_global "
    "punteggio voto valutazione punti giudizio voto_finale punteggio_totale "
    "pontuacao pontos avaliacao pontuacao_total nota_geral "
    "cijfer punten beoordeling waardering eindcijfer eindscore"
)
"""Names of a column of scores."""

OVERALL: Final = _words(
    "overall total final gesamt global globale generale geral total_score endnote eindcijfer eindscore totaal insgesamt"
)
"""Words in the name of a score that stands for all criteria."""

UNCERTAINTIES: Final = _words(
    "uncertainty uncertainties sd s_d sigma σ std stdev st_dev std_dev stddev standard_deviation std_deviation "
    "se s_e std_err std_error standard_error score_sd score_uncertainty score_error uncertainty_sd "
    "unsicherheit standardabweichung incertitude ecart_type incertidumbre desviacion_estandar desviacion_tipica "
    "incertezza deviazione_standard incerteza desvio_padrao onzekerheid standaardafwijking"
)
"""Names of a column of standard deviations of scores."""

WEIGHTS: Final = _words(
    "weight weights weighting precision credit credits cats ects gewicht gewichtung poids peso pesi pesos"
)
"""Names of a column of positive weights."""

CONFIDENCES: Final = _words(
    "confidence confidences conf sure confidence_score reviewer_confidence assessor_confidence certainty "
    "how_confident how_sure "
    "sureness confidence_rating self_confidence "
    "konfidenz sicherheit zuversicht gewissheit wie_sicher vertrauen urteilssicherheit sicherheit_der_bewertung "
    "confiance certitude niveau_de_confiance degre_de_confiance assurance "
    "confianza seguridad certeza nivel_de_confianza grado_de_confianza "
    "fiducia sicurezza certezza livello_di_fiducia confidenza "
    "confianca nivel_de_confianca grau_de_confianca "
    "zekerheid vertrouwen mate_van_zekerheid hoe_zeker"
)
"""Names of a column that says how sure the assessor was, in words or on a scale."""

LEVELS_NAMED: Final = _words(
    "level levels confidence_level confidence_levels level_of_confidence konfidenzniveau stufe"
)

EXPERTISE: Final = _words(
    "expertise familiarity reviewer_expertise assessor_expertise expertise_level knowledge_of_the_field "
    "familiar vertrautheit fachkenntnis fachkompetenz familiarite connaissance_du_domaine conocimiento competenza "
    "deskundigheid"
)
"""Names of a column that says how well the assessor knows the subject."""

OUTCOMES: Final = frozenset(
    _words(
        "decision outcome result status final_grade agreed_mark agreed_grade agreed award final_decision accepted "
        "entscheidung ergebnis zuschlag decision_finale resultat resultado decision_final esito decisione risultato "
        "decisao resultado_final besluit uitslag interview medal prize"
    )
)
"""Names of a column that says what was decided, or agreed on afterwards."""

FACTS: Final = frozenset(
    _words(
        "lower upper bound assessments total_confidence expected_rank p_top rank_lower rank_upper component sucra "
        "gpa age year vintage price cost budget amount requested funding pages page words flight table room booth "
        "phone "
        "zip postcode sn bib seat batch duration duration_s seconds minutes tokens temperature prompt_tokens ip "
        "alcohol ip_address url link weight_kg height abv percent_alcohol capacity start_number starting_number "
        "alter jahr jahrgang preis kosten betrag fordersumme seiten telefon tisch raum annee age prix cout montant "
        "ano edad precio coste importe anno eta prezzo costo importo idade preco custo valor_pedido jaar prijs bedrag"
    )
)
"""Names of columns of numbers that tell something of an object and are no scores."""

REMARKS: Final = frozenset(
    _words(
        "comment comments text texte texto testo tekst feedback remark remarks summary strengths weakness weaknesses "
        "notes justification reason "
        "reasons explain why rationale kommentar kommentare bemerkung bemerkungen begrundung commentaire commentaires "
        "remarque remarques comentario comentarios commento commenti opmerking opmerkingen toelichting"
    )
)
"""Words in the name of a column that holds text, however short it is."""

FLAGS: Final = frozenset(_words("yes no true false ja nein oui non si sim nao nee"))

TITLES: Final = _words("title titel titre titulo titolo name subject topic naam nom nombre nome bezeichnung thema")
"""Names of a column that says what an object is called."""

LINKS: Final = frozenset(_words("url link website homepage webseite lien enlace collegamento ligacao site web"))
"""Last words of the name of a column that says where an object is to be found."""

GROUPS: Final = frozenset(
    _words(
        "group track category session section division stream strand panel class type kind programme program call "
        "gruppe kategorie sektion sparte klasse art groupe categorie volet filiere grupo categoria seccion sesion "
        "gruppo sezione sessione secao sessao groep categorie sectie"
    )
)
"""Last words of the name of a column that sorts objects into groups."""

TAGS: Final = _words("id name number no nr num code label ref # nummer numero kennung numer n° nº n kennziffer key")
"""What may follow, or stand before, a word for objects or assessors."""

CRITERIA: Final = frozenset(
    _words(
        "novelty originality clarity impact significance relevance quality feasibility presentation technique taste "
        "appearance creativity content style soundness methodology method budget excellence implementation innovation "
        "merit rigor rigour texture aroma flavour flavor crust interpretation technical artistic teaching research "
        "communication structure argument language accuracy helpfulness coherence fluency depth strength team need "
        "readability evidence organisation organization grammar analysis design knowledge motivation experience fit "
        "originalitat qualitat klarheit relevanz machbarkeit inhalt stil darstellung kreativitat methodik "
        "originalite qualite clarte pertinence faisabilite contenu forme presentation_orale "
        "originalidad calidad claridad relevancia viabilidad contenido presentacion metodologia "
        "originalita qualita chiarezza rilevanza fattibilita contenuto presentazione "
        "originalidade qualidade clareza relevancia viabilidade conteudo apresentacao "
        "originaliteit kwaliteit helderheid relevantie haalbaarheid inhoud"
    )
)
"""Words for what a criterion of its own may ask."""

TASKS: Final = frozenset(
    _words("q question quiz exam test task exercise homework round aufgabe frage klausur tarea pregunta opgave vraag")
)
"""Words for what one and the same person marks of an object: columns of these are no assessors."""

CRITERION_NAMES: Final = frozenset(
    _words("criterion criteria dimension aspect kriterium critere criterio criterium rubric")
)

MEANS: Final = frozenset(
    _words(
        "average avg mean ave arithmetic_mean mean_score average_score avg_score plain_average weighted_average "
        "durchschnitt mittelwert mittel schnitt ø ⌀ moyenne promedio media media_aritmetica gemiddelde average_rating "
        "mean_rating durchschnittsnote note_moyenne nota_media punteggio_medio media_final"
    )
)
SUMS: Final = frozenset(_words("total sum totals summe gesamt gesamtsumme somme suma somma totale soma totaal som"))
RANKS: Final = frozenset(
    _words(
        "rank ranking place rang platz platzierung rangliste classement puesto posicion posizione classifica posicao "
        "plaats rangorde position order_of_merit"
    )
)
SPREADS: Final = frozenset(
    _words(
        "std sd stdev st_dev std_dev stddev standard_deviation variance var range spread standardabweichung ecart_type "
        "desviacion desviacion_estandar deviazione_standard desvio_padrao standaardafwijking spannweite varianz"
    )
)
POSSIBLE: Final = frozenset(
    _words(
        "max maximum possible weight weights weighting gewicht gewichtung poids peso pesos pesi maximo massimo maximal"
    )
)
"""Words in the label of a row that says what can be reached, or what each column counts."""

OTHER_SUMMARIES: Final = frozenset(
    _words(
        "median mediane mediana mediaan min max minimum maximum count n anzahl nombre_de_notes number_of_reviews "
        "reviews num_reviews highest lowest mode cuenta conteggio contagem aantal difference diff"
    )
)
"""Names of columns and rows that are computed from scores."""

PERSONAL: Final = frozenset(_words("max min rank mode media n som ave diff range var mark grant"))
"""Words that may as well be names of people: only arithmetic tells."""

TIMES: Final = frozenset(
    _words(
        "timestamp date time datetime start_time completion_time last_modified_time submitted submitted_at created "
        "created_at modified zeitstempel datum uhrzeit horodateur horodatage marca_temporal fecha hora "
        "informazioni_cronologiche data carimbo_de_data_hora tijdstempel startzeit fertigstellungszeit review_date "
        "submission_date day"
    )
)
COUNTERS: Final = frozenset(
    _words("no nr # id row index line s_no sl_no lfd_nr lfd n° nº zeile ligne fila riga linha rij")
)

# --- forms -----------------------------------------------------------------------------------------

STAMPS: Final = frozenset(
    _words("timestamp zeitstempel horodateur marca_temporal informazioni_cronologiche tijdstempel carimbo_de_data_hora")
)
"""Names of the column in which Google Forms says when an answer was sent."""

STARTS: Final = frozenset(_words("start_time startzeit heure_de_debut hora_de_inicio ora_di_inizio begintijd"))
ENDS: Final = frozenset(
    _words(
        "completion_time fertigstellungszeit heure_de_fin hora_de_finalizacion ora_di_completamento "
        "tijd_van_voltooien hora_de_conclusao"
    )
)
"""Names of the columns in which Microsoft Forms says when an answer was begun and sent."""

LOGINS: Final = MAIL | frozenset(
    _words(
        "username nutzername nom_d'utilisateur nombre_de_usuario nome_utente endereco_de_e_mail nome_de_usuario "
        "nome_de_utilizador gebruikersnaam"
    )
)
"""Names of the column in which forms say who answered."""

NAMES: Final = frozenset(_words("name nom nombre nome naam"))

ANONYMOUS: Final = frozenset(_words("anonymous anonym anonyme anonimo anoniem"))
"""Cells in which forms say that they do not know who answered."""

ENTRIES: Final = _words(
    "proposal paper submission candidate student applicant application entry project abstract manuscript poster thesis "
    "nominee nomination team essay object item startup company presentation talk antrag projekt bewerber beitrag "
    "candidat candidature projet propuesta proyecto candidato proposta progetto projeto voorstel kandidaat"
)
"""Words in a question of a form that may ask what is assessed."""

JUDGING: Final = _words(
    "rate rating score mark grade how quality comment comments feedback strength strengths weakness weaknesses"
)
"""Words in a question that asks how good something is."""

CHOOSING: Final = _words("which what id title name number select choose")
"""Words in a question that asks which one it is, all the same."""

NOT_ASSESSED: Final = frozenset(
    (
        *_words(
            "- – — -- --- . n/a na n.a. n.a coi conflict conflict_of_interest conflicted abstain abstained abstention "
            "recused recuse absent not_assessed not_scored not_reviewed not_graded no_score pending declined withdrawn "
            "missing cannot_assess unable_to_assess not_seen did_not_see not_attended not_judged no_opinion "
            "cannot_judge "
            "dont_know don't_know abs abs. entf. entf n/j none null nil n/s dns dnf excused no_review not_rated "
            "skipped skip "
            "befangen enthaltung k.a. k._a. keine_angabe entfallt nicht_bewertet interessenkonflikt abwesend "
            "nicht_gesehen keine_meinung weiss_nicht "
            "conflit conflit_d'interet conflit_d'interets s.o. s/o non_evalue abstention n.c. nc non_vu sans_avis "
            "ne_sait_pas "
            "conflicto conflicto_de_interes conflicto_de_intereses abstencion n/d nd n.d. no_evaluado ausente "
            "no_visto no_sabe "
            "conflitto conflitto_di_interesse conflitto_di_interessi astenuto non_valutato assente non_visto "
            "conflito conflito_de_interesse abstencao nao_avaliado nao_visto "
            "belangenconflict belangenverstrengeling onthouden n.v.t. nvt niet_beoordeeld geen niet_gezien"
        ),
    )
)
"""Cells of scores that say that there is none."""

# --- how sure --------------------------------------------------------------------------------------

_SURE: Final[Mapping[int, str]] = {
    2: (
        "very_high extremely_high highest very_confident extremely_confident completely_confident absolutely_certain "
        "certain very_sure very_certain expert very_familiar completely extremely absolutely_sure very "
        "sehr_hoch sehr_sicher absolut_sicher tres_elevee tres_eleve tres_haute tres_sur tres_sure tres_confiant "
        "tout_a_fait_sur muy_alta muy_alto muy_seguro muy_segura molto_alta molto_alto molto_sicuro molto_sicura "
        "muito_alta muito_alto muito_seguro muito_confiante zeer_hoog zeer_zeker heel_zeker"
    ),
    1: (
        "h high hi confident sure fairly_confident fairly_sure quite_confident quite_sure pretty_confident pretty_sure "
        "knowledgeable familiar hoch sicher ziemlich_sicher eher_sicher elevee eleve haute haut fort forte sur "
        "confiant "
        "assez_sur assez_confiant alta alto seguro segura bastante_seguro elevada elevado alta_confianza sicuro sicura "
        "abbastanza_sicuro confiante bastante_seguro hoog zeker vrij_zeker good strong"
    ),
    0: (
        "m med medium mid middle moderate moderately moderately_confident somewhat somewhat_confident somewhat_sure "
        "average neutral some_familiarity somewhat_familiar some_knowledge mittel mittelmassig teils_teils "
        "einigermassen_sicher moyenne moyen moyennement_sur "
        "moderee modere media medio moderada moderado medianamente_seguro mediamente_sicuro mediana "
        "gemiddeld middelmatig matig redelijk_zeker partly"
    ),
    -1: (
        "l low lo unsure not_confident not_sure slightly slightly_confident a_little not_very_confident not_very_sure "
        "not_very uncertain less_confident passing_knowledge little_familiarity slightly_familiar little_knowledge "
        "niedrig gering unsicher wenig_sicher eher_unsicher faible basse bas "
        "peu_sur peu_sure peu_confiant incertain baja bajo poco_seguro poco_segura inseguro insegura bassa basso "
        "poco_sicuro insicuro baixa baixo pouco_seguro pouco_confiante laag onzeker weinig_zeker weak poor"
    ),
    -2: (
        "very_low extremely_low lowest not_at_all not_at_all_confident not_confident_at_all very_unsure very_uncertain "
        "guess guessing no_confidence no_familiarity no_knowledge not_familiar unfamiliar outsider none no_idea "
        "sehr_niedrig sehr_gering sehr_unsicher gar_nicht_sicher "
        "tres_faible tres_basse pas_du_tout pas_sur_du_tout muy_baja muy_bajo nada_seguro muy_inseguro molto_bassa "
        "molto_basso per_niente_sicuro muito_baixa muito_baixo nada_seguro zeer_laag zeer_onzeker helemaal_niet_zeker"
    ),
}
SURENESS: Final[Mapping[str, int]] = {word: rank for rank, words in _SURE.items() for word in _words(words)}
"""Words for how sure somebody is, from -2, not at all, to 2, very."""

# --- which end of a scale is the best ---------------------------------------------------------------

BEST: Final = _words(
    "best beste bester sehr_gut very_good excellent exzellent outstanding hervorragend ausgezeichnet tres_bien "
    "meilleur meilleure excellente muy_bueno mejor excelente ottimo migliore eccellente muito_bom melhor zeer_goed "
    "uitstekend"
)
WORST: Final = _words(
    "worst schlechteste schlecht ungenugend mangelhaft poor very_poor pire mauvais insuffisant peor malo insuficiente "
    "peggiore pessimo pior slecht slechtste onvoldoende"
)
"""Words beside a number that say whether the lowest score is the best."""

LOWER_IS_BETTER: Final = _words(
    "lower_is_better lowest_is_best less_is_better smaller_is_better niedriger_ist_besser kleiner_ist_besser "
    "weniger_ist_besser moins_c'est_mieux menor_es_mejor minore_e_meglio menor_e_melhor lager_is_beter"
)

# --- words between words ---------------------------------------------------------------------------

OF: Final = frozenset(_words("of for by on in der des fur von du de del della dei di do da van voor per sur a"))
"""Words before which a heading says what it is about."""

FILLERS: Final = frozenset(
    _words("the a an your this each my our their die das den le la les l el los lo il o os het een")
)
"""Words that say nothing in a heading."""

OWN_NAMES: Final = _words(
    "your_name your_email your_e_mail ihr_name dein_name votre_nom su_nombre tu_nombre tuo_nome seu_nome uw_naam"
)
"""Phrases in a heading that ask for the name of whoever fills in the form."""


# --- scores in words -------------------------------------------------------------------------------

_FAMILIES: Final = (
    "strong_reject:-3 definite_reject:-3 clear_reject:-3 strongly_reject:-3 reject:-2 weak_reject:-1 weakly_reject:-1 "
    "borderline_reject:-1 marginal_reject:-1 lean_reject:-1 leaning_reject:-1 borderline:0 neutral:0 "
    "undecided:0 borderline_paper:0 weak_accept:1 weakly_accept:1 borderline_accept:1 marginal_accept:1 "
    "lean_accept:1 leaning_accept:1 accept:2 strong_accept:3 strongly_accept:3 clear_accept:3 definite_accept:3",
    "very_poor:1 poor:2 fair:3 good:4 very_good:5 excellent:6 outstanding:7 exceptional:8",
    "strongly_disagree:1 disagree:2 neutral:3 neither_agree_nor_disagree:3 agree:4 strongly_agree:5",
    "strong_no:1 no_hire:2 no:2 weak_no:3 lean_no:3 maybe:4 lean_yes:5 weak_yes:5 yes:6 hire:6 strong_yes:7 "
    "strong_hire:7 strong_no_hire:1 lean_hire:5 lean_no_hire:3",
    "very_low:1 low:2 medium:3 high:4 very_high:5",
    "ungenugend:1 mangelhaft:2 ausreichend:3 befriedigend:4 gut:5 sehr_gut:6 ausgezeichnet:7",
    "insuffisant:1 passable:2 assez_bien:3 bien:4 tres_bien:5 excellent:6",
    "insuficiente:1 suficiente:2 bien:3 notable:4 sobresaliente:5 excelente:6",
    "insufficiente:1 sufficiente:2 discreto:3 buono:4 distinto:5 ottimo:6 eccellente:7",
    "insuficiente:1 suficiente:2 regular:2 bom:3 muito_bom:4 excelente:5",
    "onvoldoende:1 voldoende:2 goed:3 zeer_goed:4 uitstekend:5",
    "fail:1 third:2 lower_second:3 upper_second:4 first:5",
)


def _family(text: str) -> dict[str, float]:
    pairs = (word.rpartition(":") for word in text.split())
    return {word.replace("_", " "): float(number) for word, _, number in pairs}


SCORE_FAMILIES: Final[tuple[Mapping[str, float], ...]] = tuple(map(_family, _FAMILIES))
"""Scores in words that belong together, each with its place in their order."""


_BIDS: Final[Mapping[float, str]] = {
    1.0: "yes eager very_high ja oui si sim keen",
    0.75: "willing high",
    0.5: "maybe neutral vielleicht peut_etre quiza quizas tal_vez forse talvez misschien",
    0.25: "in_a_pinch low reluctant",
    0.0: "no not_willing very_low nein non nao nee conflict",
}
BIDS: Final[Mapping[str, float]] = {word: bid for bid, words in _BIDS.items() for word in _words(words)}
"""What a bid in words stands for, from 0 to 1; in those of EasyChair, CMT and OpenReview too."""

MAIL_PROVIDERS: Final = frozenset(
    _words(
        "gmail googlemail yahoo ymail rocketmail hotmail outlook live msn icloud aol gmx proton protonmail pm yandex "
        "fastmail zoho tutanota posteo mailbox hey naver hanmail daum rediffmail foxmail laposte libero virgilio "
        "sapo terra uol bol ziggo kpnmail xs4all t-online freenet arcor bluewin hispeed"
    )
)
"""Before the last part of their domains, providers of e-mail to everybody, who are nobody's institution."""
MAIL_DOMAINS: Final = frozenset(
    _words(
        "me.com mac.com web.de mail.ru bk.ru list.ru inbox.ru mail.com email.com qq.com 163.com 126.com 139.com "
        "sina.com sohu.com orange.fr wanadoo.fr free.fr sfr.fr btinternet.com comcast.net verizon.net att.net "
        "users.noreply.github.com"
    )
)
"""Further domains of such providers."""
SECOND_LEVELS: Final = frozenset(_words("ac co com edu gob gov gv net ne or org res go sch nhs mil ernet univ re"))
"""What stands before a country where that is no institution yet, as in ac.uk."""
