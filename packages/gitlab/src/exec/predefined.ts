/** The predefined variables of GitLab that a working tree has values for. Those of a server, such as `CI_JOB_TOKEN`, do not exist. */
import { basename } from 'node:path'
import type { CiJob, CiVariable } from '../ci-file/ci-job.ts'
import type { Commit } from './commit.ts'

export interface Remote {
  readonly owner: string
  readonly name: string
  /** `https://gitlab.example.com`; undefined for a path. */
  readonly host: string | undefined
}

export interface PredefinedOptions {
  readonly job: Pick<CiJob, 'name' | 'stage'>
  /** Folder of the working tree. */
  readonly root: string
  readonly commit: Commit | undefined
  readonly remote: Remote | undefined
  /** Path of the configuration, relative to the root. */
  readonly configPath: string
  /** Epoch milliseconds. */
  readonly now: number
}

/** Id of a job and of a pipeline that no server has. */
const NO_ID = '1'
const NO_COMMIT = '0'.repeat(40)

/** Returns the path of the project: that of the repository at its host, or the name of the folder. */
export function projectPath({ root, remote }: Pick<PredefinedOptions, 'root' | 'remote'>): string {
  const given = remote === undefined ? `local/${basename(root)}` : [remote.owner || 'local', remote.name].join('/')
  const parts = given.split('/').map((part) => part.replaceAll(/[^\w.-]/g, '-'))
  return parts.filter((part) => part !== '' && !/^\.+$/.test(part)).join('/') || 'local/project'
}

/** Returns the variables. `CI_PROJECT_DIR`, `CI_JOB_IMAGE` and others of the runner come from `job/variables.ts`. */
export function predefinedVariables(options: PredefinedOptions): CiVariable[] {
  const values = { ...basics(options), ...ofProject(options), ...ofCommit(options.commit) }
  return Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value, public: true, raw: true }]))
}

type Values = Readonly<Record<string, string | undefined>>

function basics({ job, configPath, commit, now }: PredefinedOptions): Values {
  const at = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  return {
    CI: 'true',
    GITLAB_CI: 'true',
    CI_CONFIG_PATH: configPath,
    CI_JOB_ID: NO_ID,
    CI_JOB_NAME: job.name,
    CI_JOB_NAME_SLUG: slug(job.name),
    CI_JOB_STAGE: job.stage,
    CI_JOB_STARTED_AT: at,
    CI_NODE_TOTAL: '1',
    CI_PIPELINE_CREATED_AT: at,
    CI_PIPELINE_ID: NO_ID,
    CI_PIPELINE_IID: NO_ID,
    CI_PIPELINE_SOURCE: 'push',
    GITLAB_USER_NAME: commit?.user.name,
    GITLAB_USER_EMAIL: commit?.user.email,
    GITLAB_USER_LOGIN: commit?.user.email?.replace(/@.*$/, ''),
  }
}

function ofProject({ root, remote, commit }: PredefinedOptions): Values {
  const path = projectPath({ root, remote })
  const parts = path.split('/')
  const name = parts.at(-1) ?? ''
  // A remote of git can have a host that no URL has.
  const server = URL.parse(remote?.host ?? '') ?? undefined
  return {
    CI_PROJECT_NAME: name,
    CI_PROJECT_TITLE: name,
    CI_PROJECT_PATH: path,
    CI_PROJECT_PATH_SLUG: slug(path),
    CI_PROJECT_NAMESPACE: parts.slice(0, -1).join('/'),
    CI_PROJECT_ROOT_NAMESPACE: parts[0],
    CI_DEFAULT_BRANCH: commit?.defaultBranch,
    CI_PROJECT_URL: server && `${server.origin}/${path}`,
    CI_SERVER_URL: server?.origin,
    CI_SERVER_HOST: server?.hostname,
    CI_SERVER_FQDN: server?.host,
    CI_SERVER_PROTOCOL: server?.protocol.replace(':', ''),
    CI_SERVER_PORT: server && (server.port || (server.protocol === 'https:' ? '443' : '80')),
    CI_API_V4_URL: server && `${server.origin}/api/v4`,
  }
}

function ofCommit(commit: Commit | undefined): Values {
  if (commit === undefined) return {}
  const [title = '', ...rest] = commit.message.split('\n')
  const ref = commit.branch ?? commit.tag ?? commit.sha
  return {
    CI_COMMIT_SHA: commit.sha,
    CI_COMMIT_SHORT_SHA: commit.sha.slice(0, 8),
    CI_COMMIT_BEFORE_SHA: NO_COMMIT,
    CI_COMMIT_REF_NAME: ref,
    CI_COMMIT_REF_SLUG: slug(ref),
    CI_COMMIT_BRANCH: commit.branch,
    CI_COMMIT_TAG: commit.tag,
    CI_COMMIT_AUTHOR: commit.author,
    CI_COMMIT_MESSAGE: commit.message,
    CI_COMMIT_TITLE: title,
    CI_COMMIT_DESCRIPTION: rest.join('\n').replace(/^\n+/, ''),
    CI_COMMIT_TIMESTAMP: commit.committedAt,
  }
}

/** Longest slug, as a name in DNS. Characters. */
const MAX_SLUG = 63

/** Returns a text as GitLab makes slugs: lower case, `-` for other characters than letters and digits. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '-')
    .slice(0, MAX_SLUG)
    .replaceAll(/^-+|-+$/g, '')
}
