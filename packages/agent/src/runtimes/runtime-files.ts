/** Reads files that describe how to reach the clusters of runtimes: one `*.runtime.yaml` per runtime, as the public agent does. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { readAccountToken, tokenNamespace, type ClusterAccess } from '@windlass/kube'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { PolicyOfRuntime, type PolicyConfig } from '../kubernetes/policy/settings.ts'

/** A runtime and the access to its cluster. */
export interface RuntimeEntry {
  readonly name: string
  readonly access: ClusterAccess
  /** Path of its file below the folder; undefined for a runtime without a file. */
  readonly file?: string | undefined
  /** Namespaces that builds may use; undefined if the settings of the agent decide. */
  readonly namespaces: readonly string[] | undefined
  readonly qps?: number | undefined
  readonly burst?: number | undefined
  /** Policy settings of this cluster, where they differ from the settings of the agent. */
  readonly policy?: Partial<PolicyConfig> | undefined
}

export interface RuntimeFiles {
  readonly runtimes: readonly RuntimeEntry[]
  /** Files that cannot be used, each with a message that never contains text of the file. */
  readonly problems: readonly { readonly file: string; readonly message: string }[]
}

export interface ReadOptions {
  /** Whether to skip verification of the TLS certificates of clusters. */
  readonly insecure: boolean
  /** The cluster that this process runs in, for files with `inCluster: true`. */
  readonly here?: ClusterAccess | undefined
}

/** Not anchored and with an unescaped first dot, like the pattern of the public agent. */
const FILE_NAME = /.runtime\.yaml/
const SIZE_LIMIT = 1024 * 1024

const Shape = z.object({
  type: z.literal('runtime'),
  name: z.string().trim().min(1).max(200),
  host: z.url({ protocol: /^https?$/ }).optional(),
  token: z.string().trim().min(1).optional(),
  crt: z.string().optional(),
  /** Our extension: the cluster of the agent itself, instead of host, token and crt. */
  inCluster: z.boolean().default(false),
  namespaces: z.array(z.string().min(1)).min(1).optional(),
  /** Policy settings by their names without the prefix, such as `ALLOWED_SECRETS`. */
  policy: PolicyOfRuntime.optional(),
  qps: z.number().positive().optional(),
  burst: z.int().positive().optional(),
})

/**
 * Reads every runtime file below a folder. A broken file does not affect the others. If several files name one runtime, the first in the
 * order of their paths is used and the others are problems. Folders whose name begins with `..` are skipped: Kubernetes uses them to swap
 * the contents of a mounted Secret.
 */
export function readRuntimeFiles(dir: string, options: ReadOptions): RuntimeFiles {
  const problems: { file: string; message: string }[] = []
  const runtimes = new Map<string, { entry: RuntimeEntry; file: string }>()
  for (const file of listFiles(dir, problems)) {
    try {
      const entry = { ...readFile(join(dir, file), options), file }
      const before = runtimes.get(entry.name)
      if (before === undefined) runtimes.set(entry.name, { entry, file })
      else problems.push({ file, message: `it names the runtime ${entry.name}, which ${before.file} names already` })
    } catch (error) {
      problems.push({ file, message: error instanceof Error ? error.message : String(error) })
    }
  }
  return { runtimes: [...runtimes.values()].map(({ entry }) => entry), problems }
}

function listFiles(dir: string, problems: { file: string; message: string }[]): string[] {
  try {
    return readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.split(sep).some((part) => part.startsWith('..')))
      .filter((path) => FILE_NAME.test(path.split(sep).at(-1) ?? ''))
      .filter((path) => statSync(join(dir, path), { throwIfNoEntry: false })?.isDirectory() !== true)
      .toSorted()
  } catch (error) {
    problems.push({ file: dir, message: `the folder cannot be read: ${error instanceof Error ? error.message : String(error)}` })
    return []
  }
}

function readFile(path: string, { insecure, here }: ReadOptions): RuntimeEntry {
  const text = readFileSync(path, 'utf8')
  if (text.length > SIZE_LIMIT) throw new Error('it is longer than 1 MiB')
  // Pretty errors would quote the line, which may be the token.
  const document = parseDocument(text, { prettyErrors: false })
  if (document.errors.length > 0) throw new Error(`it is not YAML: ${document.errors[0]?.code ?? ''}`)
  const parsed = Shape.safeParse(document.toJS())
  if (!parsed.success)
    throw new Error(parsed.error.issues.map(({ path: at, message }) => `${at.join('.')}: ${message}`).join('; '))
  const { name, namespaces, qps, burst, policy } = parsed.data
  return { name, namespaces, qps, burst, policy, access: accessOf(parsed.data, insecure, here) }
}

function accessOf(file: z.output<typeof Shape>, insecure: boolean, here: ClusterAccess | undefined): ClusterAccess {
  if (file.inCluster) {
    if (here === undefined) throw new Error('inCluster: the agent does not run in a cluster')
    return here
  }
  const { host, token, crt } = file
  if (host === undefined || token === undefined) throw new Error('host and token are needed')
  return {
    server: host.replace(/\/+$/, ''),
    insecure,
    token: () => token,
    hint: `Attach the runtime again: \`${attachCommand(file.name, token)}\`.`,
    namespace: namespaceOf(file.name, token),
    ...(crt !== undefined && { ca: toPem(crt) }),
  }
}

/** Returns the command that attaches a runtime again. A token that expires is replaced by one that expires. */
export function attachCommand(runtime: string, token: string): string {
  const lifetime = readAccountToken(token) === undefined ? '' : ' --token-lifetime SECONDS'
  return `windlass attach runtime --runtime-name ${runtime}${lifetime}`
}

function toPem(crt: string): string {
  return crt.includes('-----BEGIN') ? crt : Buffer.from(crt, 'base64').toString('utf8')
}

/**
 * Returns the default namespace of builds: the part after the slash of `<kube context>/<namespace>`, else the namespace of the token's
 * account.
 */
function namespaceOf(name: string, token: string): string {
  const after = name.split('/').slice(1).at(-1)
  if (after !== undefined && after !== '') return after
  return tokenNamespace(token) ?? 'default'
}
