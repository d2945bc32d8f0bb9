/** `gitops app create`. */
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { COMMIT_TIMEOUT, openRuntime } from '../gitops-repository/runtime-session.ts'
import { finish, readManifest, withPlaces, type CommitOptions } from './committed.ts'
import { toFields, type FormOptions } from './form-fields.ts'

/** Runs `gitops app create RUNTIME NAME`. */
export async function createApplication({
  args,
  options,
  out,
  settings,
}: Invocation<FormOptions & CommitOptions & { readonly gitFile: string | undefined }>): Promise<number | void> {
  const [runtime = '', name = ''] = args
  const { gitSource, message, dryRun, gitFile: file } = options
  const fields = toFields(options)
  const manifest = readManifest(options, fields)
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const what = manifest === undefined ? { fields } : { manifest }
  const change = await withPlaces(options.file, () =>
    calls.createApplication({ name, gitSource, message, dryRun, file, ...what }, COMMIT_TIMEOUT),
  )
  if (!dryRun) return finish({ calls, out, verb: 'created' }, change, options)
  if (options.output !== undefined) return printValue(out, change, options.output)
  for (const line of change.after.trimEnd().split('\n')) out.line(line)
  out.note(
    change.before === undefined
      ? `It would be ${change.file} of the branch ${change.branch} of ${change.repository}.`
      : `${change.file} of the branch ${change.branch} of ${change.repository} has it already.`,
  )
  return undefined
}
