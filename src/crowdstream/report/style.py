"""The report's own style, beside that of every page: tiles, panels, chips, paper."""

from __future__ import annotations

from crowdstream.theme import LIGHT

_LIGHT = "".join(f"--{name}:{colour};" for name, colour in LIGHT.items())

STYLE = f"""
header {{ margin-bottom: 16px; }} header h1 {{ margin: 0; font-size: 28px; }}
header p {{ margin: 4px 0 0; color: var(--soft); }}
.input {{ border-left: 3px solid var(--warn); padding: 2px 16px; margin: 0 0 16px;
  font-size: 14px; }} .input ul {{ margin: 0; padding: 0; list-style: none; }}
article {{ margin-top: 56px; border-top: 3px solid var(--line); padding-top: 8px; }}
article > header h2 {{ font-size: 22px; margin: 12px 0 0; }} article section h3 {{
  font-size: 18px; margin: 40px 0 8px; }}
.questions .meter {{ margin-top: 4px; min-width: 60px; }} .questions td small {{
  display: block; min-width: 0; white-space: nowrap; }} .questions .number small {{
  white-space: nowrap; }} .questions td:first-child {{ overflow-wrap: anywhere; }}
.questions th {{ white-space: nowrap; }} .axis {{ display: flex; justify-content: space-between;
  min-width: 120px; max-width: 220px; }}
.questions table {{ margin: 0; }} .questions .chip {{ white-space: nowrap; margin: 1px 0; }}
.answer {{ border: 1px solid var(--line); border-left: 3px solid var(--accent);
  border-radius: 10px; background: var(--panel); padding: 12px 18px; margin: 0 0 16px; }}
.answer p {{ margin: 0; }} .answer span, .answer p + p {{ color: var(--soft); }}
.answer p + p {{ margin-top: 4px; overflow-wrap: anywhere; }}
section td:last-child {{ min-width: 11em; }}
.tiles {{ display: grid; grid-template-columns: repeat(4, 1fr); gap: 16px; }}
.tile, .panel {{ background: var(--panel); border: 1px solid var(--line); border-radius: 10px;
  padding: 16px 18px; min-width: 0; }}
.tile p {{ margin: 0; font-size: 13px; color: var(--soft); }}
.tile .value {{ font-size: 30px; font-weight: 700; line-height: 1.25; color: var(--ink); }}
.meter {{ display: block; width: 100%; height: 8px; margin-top: 12px; }}
.panels {{ display: grid; grid-template-columns: 5fr 3fr; gap: 16px; margin-top: 16px;
  align-items: start; }}
.panel :is(h2, h3) {{ font-size: 16px; margin: 0; }} .panel p {{ margin: 2px 0 0; }}
.panel td, .panel th {{ padding: 7px 6px; }} .panel table {{ margin-bottom: 4px; }}
.panel bdi {{ overflow-wrap: anywhere; }} .panel td:first-child {{ min-width: 7em; }}
svg.band {{ display: block; width: 100%; min-width: 120px; max-width: 220px; height: 16px;
  overflow: visible; }}
td small {{ display: inline-block; min-width: 6.4em; color: var(--soft); }}
.chip {{ background: var(--chip); border-radius: 10px; padding: 2px 10px; font-size: 13px;
  display: inline-block; }}
.chip.good {{ color: var(--good); }} .chip.warn {{ color: var(--warn); }}
.chip.bad {{ color: var(--bad); }}
nav {{ margin-top: 20px; font-size: 14px; }} nav a {{ margin-right: 16px; white-space: nowrap; }}
.lead {{ font-weight: 600; margin: 4px 0; }} section > .note {{ margin: 4px 0; }}
.pair {{ display: grid; grid-template-columns: 1fr 1fr; gap: 16px; align-items: start; }}
.pair > div {{ min-width: 0; }} .pair h3 {{ font-size: 15px; margin: 12px 0 0; }}
figure.half svg {{ min-width: 320px; }} figure.small svg {{ min-width: 480px; }}
figure.small {{ max-width: 660px; }} figure.small svg, figure.half svg {{ max-width: 620px; }}
figure.matrix svg {{ width: auto; max-width: none; min-width: 0; height: auto; }}
details summary {{ color: var(--accent); cursor: pointer; font-size: 14px; padding: 4px 0; }}
li {{ margin: 4px 0; overflow-wrap: anywhere; }} footer {{ margin-top: 40px; }}
@media (max-width: 900px) {{
  .tiles {{ grid-template-columns: 1fr 1fr; }} .panels, .pair {{ grid-template-columns: 1fr; }} }}
@media (max-width: 560px) {{ .tiles {{ grid-template-columns: 1fr; }} body {{ padding: 0 14px; }}
  .panel :is(:has(> svg.band), tr:has(svg.band) > :nth-child(2)) {{ display: none; }}
  .questions.decided :is(th, td):is(:nth-child(-n + 4), :nth-child(6)):not(:first-child) {{
    display: none; }} }}
@page {{ size: A4; margin: 14mm 12mm; }}
@media print {{
  :root {{ {_LIGHT} color-scheme: light; }}
  html {{ background: #fff; }}
  body {{ margin: 0; padding: 0; max-width: none; font-size: 10.5pt; }}
  * {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
  nav, details {{ display: none; }}
  .tiles {{ grid-template-columns: repeat(4, 1fr); gap: 8px; }} .tile {{ padding: 10px 12px; }}
  .tile .value {{ font-size: 20pt; }}
  .panels {{ grid-template-columns: 1fr; }} .pair {{ grid-template-columns: 1fr 1fr; }}
  section {{ break-before: page; }} section.short {{ break-before: auto; }}
  .panel td, .panel th {{ padding: 2px 6px; }} .panel {{ padding: 8px 12px; }}
  .panels {{ gap: 8px; margin-top: 8px; }} .panel table {{ margin: 4px 0 0; }}
  .panel, .note, .tile p {{ font-size: 9.5pt; }} .tile p {{ font-size: 8.5pt; }}
  header h1 {{ font-size: 20pt; }}
  section.short {{ margin-top: 10mm; break-inside: avoid; }}
  article {{ break-before: page; border: 0; margin: 0; padding: 0; }}
  h2, article section h3 {{ margin-top: 0; break-after: avoid; }}
  .panel, .tile, tr, figure {{ break-inside: avoid; }}
  figure svg, figure.half svg, figure.small svg {{ min-width: 0; }}
  figure.matrix svg {{ width: 100%; }} figure {{ overflow: visible; }}
  .wide {{ overflow: visible; }}
}}
"""
