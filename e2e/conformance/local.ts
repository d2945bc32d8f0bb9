/** Runs a case on local Docker, like `windlass run --local`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDocker } from '@windlass/engine'
import { isFault, silentLog, systemClock } from '@windlass/kit'
import { runLocalBuild, volumeNameOf } from '../../packages/local/src/index.ts'
import type { Case } from './case.ts'
import { Observation, type Observed } from './observed.ts'

export interface LocalContext {
  /** Variables of every case: IMAGE and the addresses of the services. */
  readonly variables: Readonly<Record<string, string>>
}

let docker: ReturnType<typeof openDocker> | undefined

/** Runs all builds of the case and returns what was observed of the last. The case has its own volume, which is removed. */
export async function runCaseLocally(of: Case, { variables }: LocalContext): Promise<Observed> {
  const folder = await mkdtemp(join(tmpdir(), `windlass-case-${of.name}-`))
  const documentPath = join(folder, 'pipeline.yml')
  await writeFile(documentPath, of.text)
  try {
    for (let build = 1; build < of.inputs.builds; build += 1) await runOnce(of, { folder, documentPath, variables })
    return await runOnce(of, { folder, documentPath, variables })
  } finally {
    docker ??= openDocker({ env: process.env })
    await (await docker).removeVolume(volumeNameOf({ documentPath }))
    await rm(folder, { recursive: true, force: true })
  }
}

interface Run extends LocalContext {
  readonly folder: string
  readonly documentPath: string
}

async function runOnce({ text, inputs }: Case, { folder, documentPath, variables }: Run): Promise<Observed> {
  const seen = new Observation()
  const cancel = new AbortController()
  try {
    const { outcome } = await runLocalBuild(
      {
        source: { text, file: 'pipeline.yml' },
        documentPath,
        branch: inputs.branch,
        variables: { ...variables, ...inputs.variables },
        secrets: inputs.secrets,
        only: inputs.only,
        skip: inputs.skip,
        approve: inputs.approve,
        deny: inputs.deny,
        noCache: inputs.noCache,
        resetVolume: inputs.resetVolume,
        environment: process.env,
        stateDir: join(folder, 'state'),
        clock: systemClock,
        log: silentLog,
        cancel: cancel.signal,
      },
      {
        begin: () => undefined,
        event: (event) => seen.event(event),
        output: async ({ stream, bytes }) => {
          seen.output(stream, bytes)
          if (inputs.cancel !== undefined && seen.logOf(inputs.cancel.step).includes(inputs.cancel.text)) cancel.abort()
        },
      },
    )
    return seen.result(outcome)
  } catch (error) {
    if (!isFault(error, 'pipeline-invalid')) throw error
    return seen.result({ status: 'invalid', problems: toProblems(error.details.problems) })
  }
}

/** Returns `code line:column` of each problem, without warnings. */
export function toProblems(
  problems:
    | readonly {
        code?: string | undefined
        line?: number | undefined
        column?: number | undefined
        severity?: string | undefined
      }[]
    | undefined,
): string[] {
  return (problems ?? [])
    .filter(({ severity }) => severity !== 'warning')
    .map(({ code, line, column }) => `${code} ${line}:${column}`)
    .toSorted()
}
