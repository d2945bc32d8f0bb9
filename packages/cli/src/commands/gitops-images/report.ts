/** `gitops image report`, `git-info` and `jira-info`: each reads something and reports it. Empty options count as absent, because workflows pass parameters so. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BROWSED_FORGES } from '@windlass/forges'
import { defined, retry, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import {
  IMAGE_REPORT_MAX as MAX,
  ImageIssue,
  parseBaseUrl,
  parseImageReference,
  toCommitHash,
  toReportLine,
  toWebAddress,
  type ImageGit,
  type ImageReference,
  type ImageReportInput,
} from '@windlass/protocol'
import type { ApiClient } from '@windlass/client'
import type { Invocation } from '../../command.ts'
import type { Settings } from '../../config.ts'
import { printValue } from '../../format/output.ts'
import { openAsk, type Ask } from '../../gitops/images/ask.ts'
import { readCommit, repoIn, type Forge } from '../../gitops/images/commit.ts'
import { loginFor } from '../../gitops/images/docker-config.ts'
import { keysIn, readIssues } from '../../gitops/images/issues.ts'
import { entriesOf, openProjects, requireRepository } from '../../gitops/images/limits.ts'
import { readImage, type RegistryImage } from '../../gitops/images/registry.ts'
import { readSecretFile } from '../../in-cluster/config.ts'
import { readInput } from '../../input/input-files.ts'
import { readTokenFile } from '../../input/token-file.ts'
import { openRetryingClient, openSession } from '../../session/session.ts'

interface ReportOptions {
  readonly workflow: string | undefined
  readonly workflowUrl: string | undefined
  readonly registryConfig: string | undefined
  readonly registryIntegration: string | undefined
  readonly plainHttp: boolean
  readonly serverUrl: string | undefined
  readonly tokenFile: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

interface GitOptions {
  readonly gitRepo: string | undefined
  readonly gitBranch: string | undefined
  readonly gitCommit: string | undefined
}

const DEFAULT_WORKFLOW = 'cli'
/** While the server is away. */
const REPEAT = { baseMs: 500, maxMs: 5_000, tries: 6 }
/** Name of the file of logins in a folder. */
const LOGINS = 'config.json'
/** Labels of OCI. */
const LABELS = { repo: 'org.opencontainers.image.source', commit: 'org.opencontainers.image.revision' }

/** Runs `gitops image report IMAGE`. */
export async function reportImage(
  invocation: Invocation<
    ReportOptions & GitOptions & { readonly issue: readonly string[]; readonly referenceFile: string | undefined }
  >,
): Promise<void> {
  const { options } = invocation
  const place = openPlace(invocation)
  const issues = issuesOf(options.issue)
  const found = await place.read()
  const { digest, platforms, sizeBytes, builtAt, labels } = found
  const git = { ...gitIn(labels), ...gitOf(options) }
  const { tag } = place.reference
  await place.report({
    digest,
    platforms: [...platforms],
    ...defined({
      sizeBytes,
      builtAt,
      tags: tag === undefined ? undefined : [tag],
      git: Object.keys(git).length === 0 ? undefined : git,
      issues: issues.length === 0 ? undefined : issues,
    }),
  })
  const file = given(options.referenceFile)
  if (file !== undefined) writeFileSync(file, `${place.reference.name}@${digest}\n`)
}

/** Runs `gitops image git-info IMAGE`. */
export async function reportGit(
  invocation: Invocation<
    ReportOptions &
      GitOptions & {
        readonly provider: string | undefined
        readonly url: string | undefined
        readonly gitTokenFile: string | undefined
        readonly integration: string | undefined
      }
  >,
): Promise<void> {
  const { options, out } = invocation
  const place = openPlace(invocation)
  const forge = forgeOf(options)
  const { repo, branch, commit } = gitOf(options)
  const ref = commit ?? branch
  if (repo === undefined || ref === undefined)
    return out.note('Nothing to report: name the repository, and a commit or a branch of it.')
  const name = repoIn(repo, forge?.url)
  requireRepository(listIn(options.integration, 'repositories'), name)
  const read = forge === undefined ? {} : await readCommit(place.ask, forge, { repo: name, ref })
  if (forge === undefined) out.note('No forge is configured, so only what the options say is reported.')
  await place.report({ digest: await place.digest(), git: { ...gitOf(options), ...read } })
}

/** Runs `gitops image jira-info IMAGE`. */
export async function reportIssues(
  invocation: Invocation<
    ReportOptions & {
      readonly message: string | undefined
      readonly project: readonly string[]
      readonly integration: string | undefined
    }
  >,
): Promise<void> {
  const { options, out } = invocation
  const place = openPlace(invocation)
  const projects = options.project.flatMap(entriesOf)
  const isAllowed = openProjects(listIn(options.integration, 'projects'), projects)
  const named = keysIn(options.message ?? '', projects)
  const keys = named.filter(isAllowed)
  const left = named.filter((key) => !isAllowed(key))
  if (left.length > 0) out.note(`${left.join(', ')}: left out, because the Jira integration does not allow the project.`)
  if (keys.length === 0) return out.note('Nothing to report: the text names no issue that is read.')
  const [url, username, token] = ['url', 'username', 'token'].map((name) => fileIn(options.integration, name))
  const hasJira = url !== undefined && token !== undefined
  if (!hasJira) out.note('No Jira is configured, so only the keys of the issues are reported.')
  const issues = hasJira ? await readIssues(place.ask, { url, token, username, isAllowed }, keys) : keys.map((key) => ({ key }))
  await place.report({ digest: await place.digest(), issues })
}

type Part = Omit<ImageReportInput, 'image' | 'workflow'>

interface Place {
  readonly ask: Ask
  readonly reference: ImageReference
  /** Reads the image in its registry. */
  read(): Promise<RegistryImage>
  /** Returns the digest of the reference, or that of its tag in the registry. */
  digest(): Promise<string>
  report(part: Part): Promise<void>
}

/** Throws `usage`. */
function openPlace({ args, options, out, settings }: Invocation<ReportOptions>): Place {
  const [text = ''] = args
  const reference = parseImageReference(text)
  if (reference === undefined)
    throw fault('usage', {
      message: `"${text}" is not the name of an image.`,
      hint: 'Write it as registry.example.com/team/app:TAG, or with @sha256: and its digest.',
    })
  const client = clientOf(options, settings)
  const ask = openAsk(settings)
  const logins = loginsOf(options)
  const read = (): Promise<RegistryImage> =>
    readImage(reference, {
      ask,
      plainHttp: options.plainHttp,
      loginOf: (host) => (logins === undefined ? undefined : loginFor(logins.text, host)),
      loginFile: logins?.path,
    })
  const url = toWebAddress(options.workflowUrl)
  const workflow = { name: toReportLine(options.workflow, MAX.workflow) ?? DEFAULT_WORKFLOW, ...defined({ url }) }
  return {
    ask,
    reference,
    read,
    digest: async () => reference.digest ?? (await read()).digest,
    async report(part) {
      // The same report can be sent again, so nothing is lost while the server starts.
      const retryIf = (error: unknown): boolean => isFault(error) && error.retryable
      const sent = await retry({ ...REPEAT, clock: systemClock, retryIf }, () =>
        client.imageReports.report({ image: reference.name, workflow, ...part }),
      )
      if (options.output !== undefined) return printValue(out, sent, options.output)
      out.line(`image/${sent.image}@${sent.digest} reported`)
      return undefined
    },
  }
}

function clientOf(options: ReportOptions, settings: Settings): ApiClient {
  const [url, file] = [given(options.serverUrl), given(options.tokenFile)]
  if (url === undefined && file === undefined) return openSession(settings).client
  const base = url === undefined ? undefined : parseBaseUrl(url)
  if (base === undefined || file === undefined)
    throw fault('usage', {
      message: '--server-url and --token-file belong together.',
      hint: 'Name the base URL of the server, and a file with the token.',
    })
  return openRetryingClient({ url: base, token: readTokenFile(file), caFile: settings.caFile })
}

/** Returns the value of an option that is not empty. */
function given(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text
}

function fileIn(folder: string | undefined, name: string): string | undefined {
  const path = given(folder)
  return path === undefined ? undefined : readSecretFile(join(path, name))
}

interface Logins {
  readonly path: string
  readonly text: string
}

/** Returns undefined if no file is named, and for a folder without one, as an optional Secret is. Throws `file-not-found` for a file that is named. */
function loginsOf({ registryConfig, registryIntegration }: ReportOptions): Logins | undefined {
  const [file, folder] = [given(registryConfig), given(registryIntegration)]
  if (file !== undefined) return { path: file, text: readInput(file).text }
  const text = fileIn(folder, LOGINS)
  return folder === undefined || text === undefined ? undefined : { path: join(folder, LOGINS), text }
}

/** Throws `usage` for what is not the key of an issue. */
function issuesOf(texts: readonly string[]): ImageIssue[] {
  const keys = new Set(texts.flatMap(entriesOf))
  return [...keys].map((key) => {
    const issue = ImageIssue.safeParse({ key: key.toUpperCase() }).data
    if (issue === undefined)
      throw fault('usage', { message: `"${key}" is not the key of an issue.`, hint: 'Write it as SHOP-12.' })
    return issue
  })
}

/** Returns the entries of a file in a folder; undefined without the file. */
function listIn(folder: string | undefined, name: string): string[] | undefined {
  const text = fileIn(folder, name)
  return text === undefined ? undefined : entriesOf(text)
}

/** Throws `usage` for a commit that is not one. */
function gitOf(options: GitOptions): ImageGit {
  const { gitRepo, gitBranch, gitCommit } = options
  const commit = given(gitCommit)?.trim().toLowerCase()
  if (commit !== undefined && toCommitHash(commit) === undefined)
    throw fault('usage', { message: `"${commit}" is not the hash of a commit.`, hint: 'Use --git-branch for a branch or a tag.' })
  return defined({ repo: toReportLine(gitRepo, MAX.repo), branch: toReportLine(gitBranch, MAX.branch), commit })
}

/** Returns what the labels of an image say. */
function gitIn(labels: RegistryImage['labels']): ImageGit {
  const commit = toCommitHash(labels[LABELS.commit]?.toLowerCase())
  return defined({ repo: toReportLine(labels[LABELS.repo], MAX.repo), commit })
}

interface ForgeOptions {
  readonly provider: string | undefined
  readonly url: string | undefined
  readonly gitTokenFile: string | undefined
  readonly integration: string | undefined
}

/** Returns undefined if neither the options nor the folder name a forge. Throws `usage`. */
function forgeOf(options: ForgeOptions): Forge | undefined {
  const { provider, url, gitTokenFile, integration } = options
  const file = given(gitTokenFile)
  const [name, address] = [given(provider) ?? fileIn(integration, 'provider'), given(url) ?? fileIn(integration, 'url')]
  if (name === undefined && address === undefined) return undefined
  const known = BROWSED_FORGES.find((forge) => forge === name)
  const base = parseBaseUrl(address ?? '')
  if (known === undefined || base === undefined)
    throw fault('usage', {
      message: known === undefined ? `The forge "${name ?? ''}" is not known.` : `"${address ?? ''}" is not the URL of a forge.`,
      hint: `Name one of ${BROWSED_FORGES.join(', ')} with --provider, and its URL with --url.`,
    })
  // The token of the folder belongs to the URL of the folder.
  const ofFolder = given(url) === undefined ? fileIn(integration, 'token') : undefined
  return { provider: known, url: base, ...defined({ token: file === undefined ? ofFolder : readTokenFile(file) }) }
}
