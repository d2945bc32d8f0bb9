import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import {
  addRunner,
  cacheFromVariables,
  changeConfigFile,
  defaultConfigFile,
  isAuthenticationToken,
  newEntry,
  readConfigText,
  readTemplate,
  shortToken,
  systemIdFor,
  type Coordinator,
  type EntryValue,
} from '@windlass/gitlab'
import { defined, systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { readTokenFile } from '../../input/token-file.ts'
import { ask, findSecret } from '../auth/credentials.ts'
import { catchInterrupts } from '../run/interrupt.ts'
import { withClient } from './runner-client.ts'

type Text = string | undefined

interface RegisterOptions {
  readonly config: Text
  readonly url: Text
  readonly token: Text
  readonly tokenFile: Text
  readonly registrationToken: Text
  readonly name: Text
  readonly executor: 'kubernetes' | undefined
  readonly templateConfig: Text
  readonly nonInteractive: boolean
  readonly leaveRunner: boolean
  readonly tagList: Text
  readonly runUntagged: boolean | undefined
  readonly locked: boolean | undefined
  readonly accessLevel: 'not_protected' | 'ref_protected' | undefined
  readonly maximumTimeout: number | undefined
  readonly paused: boolean | undefined
  readonly maintenanceNote: Text
  readonly limit: number | undefined
  readonly requestConcurrency: number | undefined
  readonly outputLimit: number | undefined
  readonly buildsDir: Text
  readonly cacheDir: Text
  readonly cloneUrl: Text
  readonly env: readonly string[]
  readonly tlsCaFile: Text
  readonly tlsCertFile: Text
  readonly tlsKeyFile: Text
  readonly kubernetesHost: Text
  readonly kubernetesNamespace: Text
  readonly kubernetesImage: Text
  readonly kubernetesHelperImage: Text
  readonly kubernetesServiceAccount: Text
  readonly kubernetesPullPolicy: readonly string[]
  readonly kubernetesPrivileged: boolean | undefined
  readonly kubernetesCpuLimit: Text
  readonly kubernetesCpuRequest: Text
  readonly kubernetesMemoryLimit: Text
  readonly kubernetesMemoryRequest: Text
}

type Env = Readonly<Record<string, string | undefined>>

/** Runs `gitlab register`. Nothing is written if GitLab does not accept the runner. */
export async function register({ options, out, settings }: Invocation<RegisterOptions>): Promise<void> {
  const env: Env = settings.environment
  const file = options.config ?? defaultConfigFile(env)
  const given = withEnvironment(options, env)
  const template = given.templateConfig === undefined ? {} : readTemplate(readText(given.templateConfig), given.templateConfig)
  const url = given.url ?? textOf(template['url']) ?? (await askUnless(given, 'URL of the GitLab server', '--url'))
  const { token, isRegistrationToken } = await findToken(given)
  const name = given.name ?? hostname()
  const cache = cacheFromVariables(env)
  using interrupts = catchInterrupts(systemClock)
  await withClient(
    { url, token, ...defined({ caFile: given.tlsCaFile, certFile: given.tlsCertFile, keyFile: given.tlsKeyFile }) },
    file,
    async (client) => {
      const systemId = systemIdFor(file, env)
      const registered = await client.register({
        systemId,
        description: name,
        tags: (given.tagList ?? '').split(',').flatMap((tag) => (tag.trim() === '' ? [] : [tag.trim()])),
        ignoreReserved: isRegistrationToken,
        ...defined({
          runUntagged: given.runUntagged,
          locked: given.locked,
          accessLevel: given.accessLevel,
          maximumTimeout: given.maximumTimeout,
          paused: given.paused,
          maintenanceNote: given.maintenanceNote,
        }),
      })
      const undo = (): Promise<void> =>
        given.leaveRunner ? Promise.resolve() : undoRegistration(client, registered.token, systemId)
      try {
        if (interrupts.first.aborted) throw fault('usage', { message: 'The registration was interrupted.' })
        const { keys, kubernetes } = entryOf(given)
        const entry = newEntry({ name, url, registered, now: systemClock.now(), keys, kubernetes, cache }, template)
        await changeConfigFile(file, (text) => valid(addRunner(text.trim() === '' ? NEW_FILE : text, entry), file))
      } catch (error) {
        await undo()
        throw error
      }
      out.line(`The runner "${name}" (${shortToken(registered.token)}) is registered at ${url}.`)
      out.note(`Its configuration is in ${file}.`)
    },
  )
}

/** What a new file has before its first runner. */
const NEW_FILE = 'concurrent = 1\ncheck_interval = 0\n'

/** Removes what the registration created, as far as GitLab answers: the runner, or this manager of a runner that existed before. */
async function undoRegistration(client: Coordinator, token: string, systemId: string): Promise<void> {
  const work = isAuthenticationToken(token) ? client.unregisterManager(systemId) : client.unregister()
  await work.catch(() => undefined)
}

function valid(text: string, file: string): string {
  const { config, findings } = readConfigText(text)
  if (config !== undefined) return text
  throw fault('config-invalid', {
    message: `${file} would not be valid with this runner.`,
    problems: findings.flatMap(({ severity, line, key, message }) =>
      severity === 'error' ? [{ path: key, line, message }] : [],
    ),
  })
}

async function findToken(given: RegisterOptions): Promise<{ readonly token: string; readonly isRegistrationToken: boolean }> {
  const isRegistrationToken = given.token === undefined && given.tokenFile === undefined && given.registrationToken !== undefined
  const written = given.tokenFile === undefined ? (given.token ?? given.registrationToken) : readTokenFile(given.tokenFile)
  if (written === undefined && given.nonInteractive)
    throw fault('usage', { message: 'The token is missing.', hint: 'Pass it with --token-file or CI_SERVER_TOKEN.' })
  const hint = 'Pass it with --token-file or CI_SERVER_TOKEN.'
  const token = await findSecret({ file: undefined, given: written, question: 'Token of the runner', hint })
  if (token.trim() === '') throw fault('usage', { message: 'The token is empty.', hint })
  return { token: token.trim(), isRegistrationToken }
}

function askUnless({ nonInteractive }: RegisterOptions, question: string, option: string): Promise<string> {
  if (!nonInteractive) return ask(question, option)
  throw fault('usage', { message: `${question}: no value was given.`, hint: `Pass it with ${option}.` })
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw fault('file-not-found', { message: `${path} cannot be read.` })
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Keys of the entry, by the options that set them. */
function entryOf(given: RegisterOptions): Record<'keys' | 'kubernetes', Record<string, EntryValue>> {
  const { kubernetesPullPolicy: policies, env } = given
  return {
    keys: set({
      limit: given.limit,
      request_concurrency: given.requestConcurrency,
      output_limit: given.outputLimit,
      builds_dir: given.buildsDir,
      cache_dir: given.cacheDir,
      clone_url: given.cloneUrl,
      environment: env.length === 0 ? undefined : env,
      'tls-ca-file': given.tlsCaFile,
      'tls-cert-file': given.tlsCertFile,
      'tls-key-file': given.tlsKeyFile,
    }),
    kubernetes: set({
      host: given.kubernetesHost,
      namespace: given.kubernetesNamespace,
      image: given.kubernetesImage,
      helper_image: given.kubernetesHelperImage,
      service_account: given.kubernetesServiceAccount,
      pull_policy: policies.length > 1 ? policies : policies[0],
      privileged: given.kubernetesPrivileged,
      cpu_limit: given.kubernetesCpuLimit,
      cpu_request: given.kubernetesCpuRequest,
      memory_limit: given.kubernetesMemoryLimit,
      memory_request: given.kubernetesMemoryRequest,
    }),
  }
}

function set(values: Readonly<Record<string, EntryValue | undefined>>): Record<string, EntryValue> {
  return Object.fromEntries(Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])))
}

/** Fills what the command line leaves open from the variables that gitlab-runner reads. */
function withEnvironment(options: RegisterOptions, env: Env): RegisterOptions {
  const read = (name: string): Text => (env[name] === '' ? undefined : env[name])
  const bool = (name: string): boolean | undefined => {
    const value = read(name)
    return value === undefined ? undefined : value === 'true' || value === '1'
  }
  const count = (name: string): number | undefined => {
    const value = read(name)
    if (value === undefined) return undefined
    if (/^\d{1,15}$/.test(value)) return Number(value)
    throw fault('variable-invalid', { message: `${name} must be a whole number, not "${value}".` })
  }
  const level = read('REGISTER_ACCESS_LEVEL')
  if (level !== undefined && level !== 'not_protected' && level !== 'ref_protected')
    throw fault('variable-invalid', { message: `REGISTER_ACCESS_LEVEL must be not_protected or ref_protected, not "${level}".` })
  const executor = options.executor ?? read('RUNNER_EXECUTOR') ?? 'kubernetes'
  if (executor !== 'kubernetes')
    throw fault('variable-invalid', { message: `RUNNER_EXECUTOR is "${executor}". Windlass has only the executor kubernetes.` })
  const policy = read('KUBERNETES_PULL_POLICY')
  const hasToken = options.token !== undefined || options.tokenFile !== undefined || options.registrationToken !== undefined
  return {
    ...options,
    url: options.url ?? read('CI_SERVER_URL'),
    token: hasToken ? options.token : read('CI_SERVER_TOKEN'),
    registrationToken: hasToken ? options.registrationToken : read('REGISTRATION_TOKEN'),
    name: options.name ?? read('RUNNER_NAME'),
    templateConfig: options.templateConfig ?? read('TEMPLATE_CONFIG_FILE'),
    nonInteractive: options.nonInteractive || bool('REGISTER_NON_INTERACTIVE') === true,
    leaveRunner: options.leaveRunner || bool('REGISTER_LEAVE_RUNNER') === true,
    tagList: options.tagList ?? read('RUNNER_TAG_LIST'),
    runUntagged: options.runUntagged ?? bool('REGISTER_RUN_UNTAGGED'),
    locked: options.locked ?? bool('REGISTER_LOCKED'),
    accessLevel: options.accessLevel ?? level,
    maximumTimeout: options.maximumTimeout ?? count('REGISTER_MAXIMUM_TIMEOUT'),
    paused: options.paused ?? bool('REGISTER_PAUSED'),
    maintenanceNote: options.maintenanceNote ?? read('REGISTER_MAINTENANCE_NOTE'),
    limit: options.limit ?? count('RUNNER_LIMIT'),
    requestConcurrency: options.requestConcurrency ?? count('RUNNER_REQUEST_CONCURRENCY'),
    outputLimit: options.outputLimit ?? count('RUNNER_OUTPUT_LIMIT'),
    buildsDir: options.buildsDir ?? read('RUNNER_BUILDS_DIR'),
    cacheDir: options.cacheDir ?? read('RUNNER_CACHE_DIR'),
    cloneUrl: options.cloneUrl ?? read('CLONE_URL'),
    tlsCaFile: options.tlsCaFile ?? read('CI_SERVER_TLS_CA_FILE'),
    tlsCertFile: options.tlsCertFile ?? read('CI_SERVER_TLS_CERT_FILE'),
    tlsKeyFile: options.tlsKeyFile ?? read('CI_SERVER_TLS_KEY_FILE'),
    kubernetesHost: options.kubernetesHost ?? read('KUBERNETES_HOST'),
    kubernetesNamespace: options.kubernetesNamespace ?? read('KUBERNETES_NAMESPACE'),
    kubernetesImage: options.kubernetesImage ?? read('KUBERNETES_IMAGE'),
    kubernetesHelperImage: options.kubernetesHelperImage ?? read('KUBERNETES_HELPER_IMAGE'),
    kubernetesServiceAccount: options.kubernetesServiceAccount ?? read('KUBERNETES_SERVICE_ACCOUNT'),
    kubernetesPullPolicy:
      options.kubernetesPullPolicy.length > 0 || policy === undefined ? options.kubernetesPullPolicy : [policy],
    kubernetesCpuLimit: options.kubernetesCpuLimit ?? read('KUBERNETES_CPU_LIMIT'),
    kubernetesCpuRequest: options.kubernetesCpuRequest ?? read('KUBERNETES_CPU_REQUEST'),
    kubernetesMemoryLimit: options.kubernetesMemoryLimit ?? read('KUBERNETES_MEMORY_LIMIT'),
    kubernetesMemoryRequest: options.kubernetesMemoryRequest ?? read('KUBERNETES_MEMORY_REQUEST'),
    env: options.env,
    kubernetesPrivileged: options.kubernetesPrivileged ?? bool('KUBERNETES_PRIVILEGED'),
  }
}
