/** `gitops app edit`: options, a file or an editor; the difference; then the commit. */
import { unifiedDiff } from '@windlass/plan'
import { fault, isFault } from '@windlass/kit/faults'
import type { ApplicationChange, ApplicationEdit } from '@windlass/protocol'
import type { GitopsRuntimeCalls } from '@windlass/client/gitops-runtime'
import type { Invocation } from '../../command.ts'
import { formatError } from '../../format/problems.ts'
import { printValue } from '../../format/output.ts'
import { paintDiff } from '../../format/diff.ts'
import type { Style } from '../../format/style.ts'
import { openEditor, type Editor } from '../../input/editor.ts'
import type { Printer } from '../../printer.ts'
import { terminalPrompter } from '../../runner/init/prompter.ts'
import { COMMIT_TIMEOUT, openRuntime } from '../gitops-repository/runtime-session.ts'
import { finish, readManifest, withPlaces, type CommitOptions } from './committed.ts'
import { toFields, type FormOptions } from './form-fields.ts'

type EditOptions = FormOptions & CommitOptions & { readonly yes: boolean }
/** What is to be changed, and from where. */
type Wanted = Pick<ApplicationEdit, 'fields' | 'manifest' | 'text' | 'base' | 'gitSource'>

/** Runs `gitops app edit RUNTIME NAME`. What a person has written in the editor is kept if it is not committed. */
export async function editApplication(invocation: Invocation<EditOptions>): Promise<number | void> {
  const { args, options, out, settings } = invocation
  const fields = toFields(options)
  const manifest = readManifest(options, fields)
  const form = manifest === undefined ? { fields } : { manifest }
  if (manifest !== undefined || Object.keys(fields).length > 0)
    return edit(invocation, (_, preview) => preview({ ...form, gitSource: options.gitSource }))
  await using editor = await openEditor(settings, `${args[1] ?? ''}.yaml`)
  try {
    return await edit(invocation, (calls, preview) => inEditor({ calls, out, editor, invocation, preview }))
  } catch (error) {
    if (editor.keep()) out.note(`Your text is in ${editor.file}.`)
    throw error
  }
}

/** Previews a change, shows it, and commits it. `make` returns undefined if there is none. */
async function edit(
  { args, options, out, settings }: Invocation<EditOptions>,
  make: (calls: GitopsRuntimeCalls, preview: Preview) => Promise<Previewed | undefined>,
): Promise<number | void> {
  const [runtime = '', name = ''] = args
  const { dryRun, message } = options
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const made = await make(calls, async (wanted) => {
    const change = await withPlaces(options.file, () =>
      calls.editApplication(name, { ...wanted, message, dryRun: true }, COMMIT_TIMEOUT),
    )
    // The commit begins where the difference was seen, so that what others change meanwhile stays.
    return { wanted: { ...wanted, base: wanted.base ?? change.revision, gitSource: change.gitSource }, change }
  })
  if (made === undefined) return out.line(`application/${name} unchanged`)
  const { wanted, change } = made
  if (dryRun && options.output !== undefined) return printValue(out, change, options.output)
  // The output of another format is one value.
  printDiff(change, out.stdout.style, options.output === undefined ? out.line : out.note)
  if (dryRun) return change.before === change.after ? out.note('Nothing would change.') : undefined
  if (change.before !== change.after) await requireYes(out, options, change)
  const committed = await calls.editApplication(name, { ...wanted, message, dryRun: false }, COMMIT_TIMEOUT)
  return finish({ calls, out, verb: 'changed' }, committed, options)
}

interface Previewed {
  readonly wanted: Wanted
  readonly change: ApplicationChange
}
type Preview = (wanted: Wanted) => Promise<Previewed>

interface Editing {
  readonly calls: GitopsRuntimeCalls
  readonly out: Printer
  readonly editor: Editor
  readonly invocation: Invocation<EditOptions>
  readonly preview: Preview
}

/** Opens the manifest in the editor until it is valid. Undefined if the text stays the same. */
async function inEditor({ calls, out, editor, invocation, preview }: Editing): Promise<Previewed | undefined> {
  const found = await calls.applicationFile(invocation.args[1] ?? '', { query: { gitSource: invocation.options.gitSource } })
  let { text } = found
  for (;;) {
    text = await editor.edit(text)
    if (text === found.text) return undefined
    try {
      return await preview({ text, base: found.revision, gitSource: found.gitSource })
    } catch (error) {
      if (!isFault(error, 'request-invalid') || !isTerminal(out)) throw error
      for (const line of formatError(error, { style: out.stderr.style, debug: false })) out.note(line)
      if (!(await terminalPrompter().confirm('Open the editor again?', true))) throw error
    }
  }
}

function printDiff({ file, before = '', after }: ApplicationChange, style: Style, print: (line: string) => void): void {
  for (const line of paintDiff(unifiedDiff(before, after, { before: `a/${file}`, after: `b/${file}` }), style)) print(line)
}

/** Throws `usage` without `--yes` and a terminal, and if the answer is no. */
async function requireYes(out: Printer, { yes }: EditOptions, { file, branch, repository }: ApplicationChange): Promise<void> {
  if (yes) return
  const what = `a commit of ${file} to the branch ${branch} of ${repository}`
  if (!isTerminal(out)) throw fault('usage', { message: `This would be ${what}.`, hint: 'Add --yes to make it.' })
  if (await terminalPrompter().confirm(`Make ${what}?`, false)) return
  throw fault('usage', { message: 'Canceled; nothing was changed.', hint: 'Run the command again at any time.' })
}

function isTerminal(out: Printer): boolean {
  return process.stdin.isTTY === true && out.stderr.isTTY
}
