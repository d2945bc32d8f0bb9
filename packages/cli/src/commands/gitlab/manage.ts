import {
  changeConfigFile,
  defaultConfigFile,
  isAuthenticationToken,
  loadConfig,
  readConfigFile,
  readConfigText,
  removeRunner,
  runnerPosition,
  shortToken,
  storeToken,
  systemIdFor,
  type RunnerSection,
} from '@windlass/gitlab'
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { readTokenFile } from '../../input/token-file.ts'
import type { Settings } from '../../config.ts'
import { withClient } from './runner-client.ts'

interface FileOption {
  readonly config: string | undefined
}

interface Selection extends FileOption {
  readonly name: string | undefined
  readonly url: string | undefined
  readonly token: string | undefined
  readonly allRunners?: boolean
}

/** A runner of the file, with what tells it from others after the file has changed. */
interface Selected {
  readonly runner: RunnerSection
  readonly label: string
  readonly url: string
  readonly token: string
}

const fileOf = ({ config }: FileOption, { environment }: Settings): string => config ?? defaultConfigFile(environment)

/** Returns the runners that the options name; all of them without one. */
function select(options: Selection, file: string): Selected[] {
  const { name, url, token } = options
  const wantedUrl = url?.replace(/\/+$/, '')
  return loadConfig(file).config.runners.flatMap((runner) => {
    const own = { url: runner.url ?? '', token: runner.token ?? '' }
    const isWanted =
      (name === undefined || runner.name === name) &&
      (wantedUrl === undefined || own.url.replace(/\/+$/, '') === wantedUrl) &&
      (token === undefined || own.token === token)
    return isWanted ? [{ runner, label: `The runner "${runner.name ?? ''}" (${shortToken(own.token)})`, ...own }] : []
  })
}

/** Like `select`, for commands that change something: without a name, a URL or a token all runners have to be asked for. */
function selectNamed(options: Selection, file: string): Selected[] {
  const isNamed = options.name !== undefined || options.url !== undefined || options.token !== undefined
  if (!isNamed && options.allRunners !== true)
    throw fault('usage', { message: 'No runner was named.', hint: 'Add --name NAME, or --all-runners for all of them.' })
  const selected = select(options, file)
  if (selected.length > 0) return selected
  throw fault('not-found', { message: `${file} has no such runner.`, hint: 'List them with `windlass gitlab list`.' })
}

const addressOf = ({ runner, url, token }: Selected): Parameters<typeof withClient>[0] => ({
  url,
  token,
  caFile: runner['tls-ca-file'],
  certFile: runner['tls-cert-file'],
  keyFile: runner['tls-key-file'],
})

/** Runs `gitlab unregister`. A runner that GitLab does not know any more is removed from the file as well. */
export async function unregister({ options, out, settings }: Invocation<Selection>): Promise<void> {
  const file = fileOf(options, settings)
  for (const selected of selectNamed(options, file)) {
    const { token, label } = selected
    const isKnown = await withClient(addressOf(selected), file, async (client) => {
      try {
        if (isAuthenticationToken(token)) await client.unregisterManager(systemIdFor(file, settings.environment))
        else await client.unregister()
        return true
      } catch (error) {
        if (isFault(error, 'forge-refused') && error.details['gitlabStatus'] === 403) return false
        throw error
      }
    })
    await changeConfigFile(file, (text) => removeRunner(text, runnerPosition(text, selected)))
    out.line(isKnown ? `${label} is unregistered.` : `${label} is removed from ${file}. GitLab does not know it.`)
  }
}

/** Runs `gitlab verify`. */
export async function verify({ options, out, settings }: Invocation<Selection & { readonly delete: boolean }>): Promise<number> {
  const file = fileOf(options, settings)
  const systemId = systemIdFor(file, settings.environment)
  let code: number = EXIT.success
  for (const selected of select(options, file)) {
    const { label } = selected
    const result = await withClient(addressOf(selected), file, async (client) => client.verify(systemId)).catch(
      (error: unknown) => {
        if (!isFault(error)) throw error
        return { type: 'unknown', reason: error.message } as const
      },
    )
    if (result.type === 'valid') out.line(`${label} is valid.`)
    else if (result.type === 'unknown') out.line(`${label} could not be verified: ${result.reason.replace(/\.$/, '')}.`)
    else if (options.delete) {
      await changeConfigFile(file, (text) => removeRunner(text, runnerPosition(text, selected)))
      out.line(`${label} is not valid, and is removed from ${file}.`)
    } else {
      out.line(`${label} is not valid: GitLab does not know its token.`)
      code = EXIT.failed
    }
  }
  return code
}

/** Runs `gitlab list`. */
export async function list({
  options,
  out,
  settings,
}: Invocation<FileOption & { readonly output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const { runners } = loadConfig(fileOf(options, settings)).config
  const rows = runners.map(({ name = '', id, token = '', executor = '', url = '' }) => ({
    name,
    id: id ?? null,
    token: shortToken(token),
    executor,
    url,
  }))
  if (options.output !== undefined) return printValue(out, rows, options.output)
  const lines = rows.map(({ name, id, token, executor, url }) => [name, String(id ?? ''), token, executor, url])
  for (const line of alignColumns([['NAME', 'ID', 'TOKEN', 'EXECUTOR', 'URL'], ...lines])) out.line(line)
}

/** Runs `gitlab reset-token`. */
export async function resetToken({
  options,
  out,
  settings,
}: Invocation<Selection & { readonly patFile: string | undefined }>): Promise<void> {
  const file = fileOf(options, settings)
  const personalToken = options.patFile === undefined ? undefined : readTokenFile(options.patFile)
  for (const selected of selectNamed(options, file)) {
    const { runner, label } = selected
    const renewed = await withClient(addressOf(selected), file, (client) => {
      if (personalToken === undefined) return client.resetToken()
      if (runner.id === undefined)
        throw fault('usage', { message: `${label} has no id in ${file}, which a personal token needs.` })
      return client.resetTokenById(runner.id, personalToken)
    })
    await storeToken(file, selected, renewed, systemClock.now())
    const { tokenExpiresAt } = renewed
    out.line(`${label} has a new token${tokenExpiresAt === undefined ? '' : `, which expires at ${tokenExpiresAt}`}.`)
  }
}

/** Runs `gitlab validate`. */
export async function validate({
  args,
  options,
  out,
  settings,
}: Invocation<FileOption & { readonly output: 'json' | undefined }>): Promise<number> {
  const file = args[0] ?? fileOf(options, settings)
  const text = readConfigFile(file)
  if (text === undefined) throw fault('file-not-found', { message: `${file} does not exist.` })
  const { config, findings } = readConfigText(text)
  const hasFailed = config === undefined || findings.some(({ isUnknownKey }) => isUnknownKey)
  if (options.output === 'json') out.line(JSON.stringify({ file, valid: !hasFailed, findings }, null, 2))
  else {
    for (const { line, severity, message, hint } of findings)
      out.line(`${file}:${line}: ${severity}: ${message}${hint === undefined ? '' : ` (${hint.replace(/[.]$/, '')})`}`)
    const count = config?.runners.length ?? 0
    if (findings.length === 0) out.line(`${file} is valid: ${count === 1 ? '1 runner' : `${count} runners`}.`)
  }
  return hasFailed ? EXIT.failed : EXIT.success
}
