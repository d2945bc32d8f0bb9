/** The text field of the editor: CodeMirror in a shadow root, because the policy of the page allows only style sheets that scripts adopt there. */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  startCompletion,
  type CompletionResult,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, foldGutter, foldKeymap, indentUnit } from '@codemirror/language'
import { lintGutter, nextDiagnostic, previousDiagnostic, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, type TransactionSpec } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
  type Tooltip,
} from '@codemirror/view'
import type { Completions, Explanation } from '@windlass/pipeline'
import type { ShownProblem } from './checks/language.ts'
import { theme } from './theme.ts'

export interface TextFieldOptions {
  readonly parent: HTMLElement
  readonly text: string
  readonly label: string
  readonly isReadOnly: boolean
  readonly onChange: (text: string) => void
  readonly complete: (text: string, offset: number) => Promise<Completions>
  readonly explain: (text: string, offset: number) => Promise<Explanation | undefined>
  /** Ctrl-S and Ctrl-Enter. */
  readonly onSave: () => void
  readonly onRun: () => void
}

export interface TextField {
  showProblems(problems: readonly ShownProblem[]): void
  /** Moves the cursor to a place, 1-based, and shows it. */
  goTo(line: number, column: number): void
  goToNextProblem(): void
  /** Replaces a range, as one step of the history. */
  replace(from: number, to: number, insert: string): void
  setText(text: string): void
  setReadOnly(isReadOnly: boolean): void
  close(): void
}

/** Opens a text field in an element. The caller must close it. */
export function openTextField(options: TextFieldOptions): TextField {
  const { parent } = options
  // React mounts twice during development; an element keeps its shadow root.
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: 'open' })
  const mutability = new Compartment()
  const writable = (isReadOnly: boolean) => [EditorState.readOnly.of(isReadOnly), EditorView.editable.of(!isReadOnly)]
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        // Before the defaults, which bind the same keys.
        keymap.of([
          { key: 'Mod-s', preventDefault: true, run: () => (options.onSave(), true) },
          { key: 'Mod-Enter', preventDefault: true, run: () => (options.onRun(), true) },
          { key: 'F8', run: nextDiagnostic, shift: previousDiagnostic },
          { key: 'Ctrl-Space', run: startCompletion },
          { key: 'Mod-f', run: openSearchPanel },
          { key: 'Tab', run: acceptCompletion },
        ]),
        lineNumbers(),
        foldGutter(),
        lintGutter(),
        history(),
        drawSelection(),
        indentUnit.of('  '),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [({ state, pos, explicit }) => toResult(options, state, pos, explicit)], icons: false }),
        hoverTooltip((own, offset) => toTooltip(options, own, offset)),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSelectionMatches(),
        search({ top: true }),
        yaml(),
        theme,
        mutability.of(writable(options.isReadOnly)),
        EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false', tabindex: '0' }),
        EditorView.domEventHandlers({ beforeinput: replaceLines }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) options.onChange(state.doc.toString())
        }),
        keymap.of([
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...foldKeymap,
          ...defaultKeymap,
          indentWithTab,
        ]),
      ],
    }),
  })
  return {
    showProblems: (problems) => {
      const { state } = view
      view.dispatch(
        setDiagnostics(
          state,
          problems.map((problem) => toMark(state, problem)),
        ),
      )
    },
    goTo(line, column) {
      const at = offsetOf(view.state, line, column)
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) })
      view.focus()
    },
    goToNextProblem() {
      nextDiagnostic(view)
      view.focus()
    },
    replace: (from, to, insert) => view.dispatch({ changes: { from, to, insert }, userEvent: 'input.fix' }),
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    setReadOnly: (isReadOnly) => view.dispatch({ effects: mutability.reconfigure(writable(isReadOnly)) }),
    close: () => view.destroy(),
  }
}

/**
 * Types over a selection of several lines without the browser, which merges lines by inline styles that the policy of the page refuses. Returns true if
 * that was done.
 */
function replaceLines(event: InputEvent, view: EditorView): boolean {
  const { state, composing } = view
  const { from, to } = state.selection.main
  const { inputType, data } = event
  const isOneLine = state.doc.lineAt(from).to >= to
  if (inputType !== 'insertText' || data === null || composing || state.readOnly || isOneLine) return false
  event.preventDefault()
  const insert = (): TransactionSpec => ({ ...state.replaceSelection(data), userEvent: 'input.type', scrollIntoView: true })
  // Closes brackets around the selection, for example.
  const isTaken = state.facet(EditorView.inputHandler).some((take) => take(view, from, to, data, () => state.update(insert())))
  if (!isTaken) view.dispatch(insert())
  return true
}

/** Returns the offset of a place, both 1-based, within the text. */
function offsetOf({ doc }: EditorState, line: number, column: number): number {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines))
  return Math.min(from + column - 1, to)
}

function toMark(state: EditorState, problem: ShownProblem): Diagnostic {
  const from = offsetOf(state, problem.line, problem.column)
  const to = Math.max(offsetOf(state, problem.endLine, problem.endColumn), from)
  const { fix, severity, message, hint, code } = problem
  return {
    from,
    to,
    severity,
    source: code,
    message: hint === '' ? message : `${message}\n${hint}`,
    ...(fix !== undefined && {
      actions: [
        {
          name: fix.label,
          apply: (view) => view.dispatch({ changes: { from: fix.from, to: fix.to, insert: fix.insert }, userEvent: 'input.fix' }),
        },
      ],
    }),
  }
}

async function toResult(
  { complete }: TextFieldOptions,
  state: EditorState,
  offset: number,
  isAsked: boolean,
): Promise<CompletionResult | null> {
  const before = state.sliceDoc(state.doc.lineAt(offset).from, offset)
  if (!isAsked && !/(?:[\w-]|\$\{\{\s?)$/.test(before)) return null
  const { from, items } = await complete(state.doc.toString(), offset)
  if (items.length === 0) return null
  return {
    from,
    options: items.map(({ label, kind, insert, detail, about }, index) => ({
      label,
      detail,
      apply: insert,
      boost: -index / items.length,
      type: kind === 'field' ? 'property' : kind,
      ...(about !== '' && { info: about }),
    })),
    validFor: /^[\w.:/-]*$/,
  }
}

async function toTooltip({ explain }: TextFieldOptions, view: EditorView, offset: number): Promise<Tooltip | null> {
  const found = await explain(view.state.doc.toString(), offset)
  if (found === undefined) return null
  return {
    pos: found.from,
    end: found.to,
    above: true,
    create: () => {
      const dom = document.createElement('div')
      dom.className = 'cm-explained'
      const title = document.createElement('strong')
      title.textContent = found.title
      const detail = document.createElement('span')
      detail.textContent = found.detail
      const about = document.createElement('p')
      about.textContent = found.about
      dom.append(title, detail, about)
      return { dom }
    },
  }
}
