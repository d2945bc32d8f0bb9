/** The look of the text field of the editor, from the tokens of the page. They reach into its shadow root. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--log-text)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px', fontVariantLigatures: 'none' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)', borderLeftWidth: '2px' },
  '.cm-gutters': { color: 'var(--log-number)', backgroundColor: 'var(--surface)', border: 'none', paddingLeft: '4px' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in oklab, var(--sunken) 60%, transparent)' },
  '.cm-activeLineGutter': { color: 'var(--text)', backgroundColor: 'transparent' },
  '.cm-foldGutter .cm-gutterElement': { cursor: 'pointer' },
  '.cm-foldPlaceholder': { border: 'none', color: 'var(--text-2)', backgroundColor: 'var(--sunken)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--log-marked)',
  },
  '.cm-searchMatch': { backgroundColor: 'var(--log-hit)' },
  '.cm-searchMatch-selected': { outline: '1px solid var(--accent)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-soft)', outline: 'none' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    boxShadow: 'var(--float)',
    font: '400 13px/20px var(--sans)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '13px', maxHeight: '260px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px', lineHeight: '20px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { color: 'var(--text)', background: 'var(--accent-soft)' },
  '.cm-completionDetail': { marginLeft: '12px', color: 'var(--text-3)', fontStyle: 'normal', fontFamily: 'var(--sans)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600', color: 'var(--accent)' },
  '.cm-completionInfo': { maxWidth: '320px', padding: '8px 12px' },
  '.cm-explained': { maxWidth: '360px', padding: '8px 12px' },
  '.cm-explained strong': { fontWeight: '600', fontFamily: 'var(--mono)', marginRight: '8px' },
  '.cm-explained span': { color: 'var(--text-3)' },
  '.cm-explained p': { margin: '4px 0 0' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad) 1px', textUnderlineOffset: '3px' },
  '.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--wait) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-lint-marker-error': { content: 'none', borderRadius: '2px', backgroundColor: 'var(--bad)' },
  '.cm-lint-marker-warning': { content: 'none', borderRadius: '50%', backgroundColor: 'var(--wait)' },
  '.cm-gutter-lint': { width: '14px' },
  '.cm-gutter-lint .cm-gutterElement': { padding: '6px 3px' },
  '.cm-lint-marker': { width: '8px', height: '8px' },
  '.cm-diagnostic': { padding: '8px 12px', whiteSpace: 'pre-wrap' },
  '.cm-diagnostic-error': { borderLeft: '3px solid var(--bad)' },
  '.cm-diagnostic-warning': { borderLeft: '3px solid var(--wait)' },
  '.cm-diagnosticAction': {
    margin: '4px 0 0',
    padding: '2px 8px',
    borderRadius: 'var(--radius)',
    color: 'var(--on-accent)',
    backgroundColor: 'var(--accent)',
    font: '500 12px/18px var(--sans)',
    cursor: 'pointer',
  },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--sunken)', font: '400 13px/20px var(--sans)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-textfield': { border: '1px solid var(--line-strong)', borderRadius: 'var(--radius)', backgroundColor: 'var(--surface)' },
  '.cm-button': {
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    backgroundImage: 'none',
    backgroundColor: 'var(--surface)',
  },
})

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: tags.comment, color: 'var(--text-3)' },
  { tag: [tags.string, tags.special(tags.string), tags.content], color: 'var(--log-text)' },
  { tag: [tags.keyword, tags.bool, tags.number, tags.atom], color: 'var(--ansi-5)' },
  { tag: [tags.labelName, tags.typeName], color: 'var(--ansi-6)' },
  { tag: [tags.punctuation, tags.separator, tags.meta, tags.squareBracket, tags.brace], color: 'var(--text-2)' },
])

export const theme: Extension = [look, syntaxHighlighting(colors)]
