/**
 * The variables of a job: their order, expansion, and which of them are files. A later variable replaces an earlier one of the same name. Rules of the
 * runners of GitLab.
 */
import type { RunnerSection } from '../config/schema.ts'
import { shortToken } from '../coordinator/tokens.ts'
import { expandText } from './expand.ts'
import type { ResolvedSecret } from '../secrets/resolve-secrets.ts'
import type { Job } from './payload.ts'

export interface Variable {
  readonly key: string
  readonly value: string
  /** True if anybody who can see the pod may see the value. */
  readonly isPublic: boolean
  /** True if the runner sets it, and not the server or the job. */
  readonly isInternal: boolean
  /** True if the value becomes the content of a file, and the variable its path. */
  readonly isFile: boolean
  readonly isMasked: boolean
  /** True if references in the value are not expanded. */
  readonly isRaw: boolean
}

export interface JobPlace {
  /** Folder of the sources of all projects. */
  readonly buildsFolder: string
  /** Folder of the sources of the job. */
  readonly projectFolder: string
  /** Number of the job among those of the runner, and among those of its project. */
  readonly concurrentId: number
  readonly concurrentProjectId: number
}

export interface VariableOptions extends JobPlace {
  readonly job: Pick<Job, 'variables' | 'runner_info'>
  /** Secrets of other stores. Default: none. */
  readonly secrets?: readonly ResolvedSecret[]
  readonly runner: Pick<RunnerSection, 'environment' | 'token'>
  /** Image of the job; undefined without one. */
  readonly image: string | undefined
  /** Feature flags with their values for this job. */
  readonly flags: Readonly<Record<string, boolean>>
  readonly version: string
  readonly revision: string
  /** PEM texts for the connection to GitLab. */
  readonly tls: { readonly ca?: string | undefined; readonly cert?: string | undefined; readonly key?: string | undefined }
}

export interface Variables {
  /** Expanded, in their order, each name once. */
  readonly list: readonly Variable[]
  /** Values of masked variables, for the trace. */
  readonly masked: readonly string[]
  /** Returns the value; the path for a file. */
  valueOf(key: string): string | undefined
  /** Expands references in a text with these variables. */
  expand(text: string): string
}

/** Time limit of a job for which the server sets none. Seconds. */
export const DEFAULT_TIMEOUT_S = 7_200

/** Returns the time limit of a job. Seconds. */
export function timeoutOf({ runner_info: { timeout } }: Pick<Job, 'runner_info'>): number {
  return timeout > 0 ? timeout : DEFAULT_TIMEOUT_S
}

/** Returns the variables of a job. */
export function jobVariables(options: VariableOptions): Variables {
  const { job, flags, projectFolder } = options
  const isFlag = (key: string): boolean => Object.hasOwn(flags, key)
  const given = job.variables.flatMap(({ key, value, ...rest }): Variable[] =>
    // Flags of the configuration win over variables of the same name, and are among the first variables.
    isFlag(key)
      ? []
      : [
          {
            key,
            value,
            isPublic: rest.public === true,
            isInternal: false,
            isFile: rest.file === true,
            isMasked: rest.masked === true,
            isRaw: rest.raw === true,
          },
        ],
  )
  const all = new Map<string, Variable>()
  for (const variable of [...firstOf(options), ...given, ...lastOf(options)]) {
    // A replaced variable moves to the place of the new one.
    all.delete(variable.key)
    all.set(variable.key, variable)
  }
  const folder = `${projectFolder}.tmp`
  const raw = (name: string): string | undefined => valueIn(all.get(name), folder)
  const list = [...all.values()].map((variable) =>
    variable.isRaw ? variable : { ...variable, value: expandText(variable.value, raw) },
  )
  const expanded = new Map(list.map((variable) => [variable.key, variable]))
  const valueOf = (name: string): string | undefined => valueIn(expanded.get(name), folder)
  return {
    list,
    masked: list.flatMap(({ isMasked, value }) => (isMasked && value !== '' ? [value] : [])),
    valueOf,
    expand: (text) => expandText(text, valueOf),
  }
}

/** Returns the path of the file of a file variable. */
export function filePathOf({ key }: Pick<Variable, 'key'>, folder: string): string {
  return `${folder}/${key.replaceAll(/[^\w.-]/g, '_')}`
}

function valueIn(variable: Variable | undefined, folder: string): string | undefined {
  return variable?.isFile === true ? filePathOf(variable, folder) : variable?.value
}

/** What the server and the job can replace. */
function firstOf(options: VariableOptions): Variable[] {
  const { runner, image, flags, job, tls } = options
  return [
    ...Object.entries(flags).map(([key, isOn]) => internal(key, String(isOn))),
    ...(image === undefined ? [] : [internal('CI_JOB_IMAGE', image)]),
    internal('CI_RUNNER_SHORT_TOKEN', shortToken(runner.token ?? '')),
    ...(runner.environment ?? []).flatMap((entry) => {
      const at = entry.indexOf('=')
      const key = entry.slice(0, at)
      return Object.hasOwn(flags, key) ? [] : [{ ...internal(key, entry.slice(at + 1)), isRaw: false }]
    }),
    internal('CI_BUILDS_DIR', options.buildsFolder),
    internal('CI_PROJECT_DIR', options.projectFolder),
    internal('CI_CONCURRENT_ID', String(options.concurrentId)),
    internal('CI_CONCURRENT_PROJECT_ID', String(options.concurrentProjectId)),
    internal('CI_SERVER', 'yes'),
    internal('CI_JOB_STATUS', 'running'),
    internal('CI_JOB_TIMEOUT', String(timeoutOf(job))),
    ...(['ca', 'cert', 'key'] as const).flatMap((part) => {
      const text = tls[part]
      return text === undefined ? [] : [{ ...internal(`CI_SERVER_TLS_${part.toUpperCase()}_FILE`, text), isFile: true }]
    }),
  ]
}

/** What nothing replaces. */
function lastOf({ secrets = [], version, revision, projectFolder }: VariableOptions): Variable[] {
  return [
    internal('CI_DISPOSABLE_ENVIRONMENT', 'true'),
    internal('CI_RUNNER_VERSION', version),
    internal('CI_RUNNER_REVISION', revision),
    internal('CI_RUNNER_EXECUTABLE_ARCH', `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`),
    ...secrets.map(({ name, value, isFile }): Variable => ({
      ...internal(name, value),
      isPublic: false,
      isInternal: false,
      isFile,
      isMasked: true,
    })),
    internal('RUNNER_TEMP_PROJECT_DIR', `${projectFolder}.tmp`),
  ]
}

function internal(key: string, value: string): Variable {
  return { key, value, isPublic: true, isInternal: true, isFile: false, isMasked: false, isRaw: true }
}
