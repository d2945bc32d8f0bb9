/** Derives the cause of a failed image build from the end of the builder's output. */
import { VOLUME_PATH } from '@windlass/plan'
import { StepFailure } from '../attempt/step-outcome.ts'

/** Exit codes of our script. */
export const NO_FOLDER = 20
export const NO_DOCKERFILE = 21

const MEMORY_HINT = 'Give the Docker daemon of the runtime more memory (defaultDindResources), or let the command use less.'
const LAST_LINES = 10
/** Prefixes that BuildKit adds for each component that an error passed through. */
const ERROR_PREFIXES =
  /^(failed to build: |failed to solve: |rpc error: code = \w+ desc = |failed to solve with frontend [\w.]+: |failed to create LLB definition: )+/

/**
 * Errors of BuildKit about the disk of the daemon: a path below the folder of dockerd or of a separate BuildKit, or a layer of an image, whose paths
 * are those in the image. A command of the Dockerfile that fills the disk fails with an exit code instead, and may have written too much.
 */
const OUR_DISK = /(\/var\/lib\/(docker|buildkit)\/[^\s:]*|failed to (register|extract) layer.*): no space left on device/

export interface FailedBuild {
  readonly exitCode: number
  /** The end of the builder's output. */
  readonly tail: string
  readonly directory: string
  readonly dockerfile: string
}

export function toBuildFailure({ exitCode, tail, directory, dockerfile }: FailedBuild): StepFailure {
  if (exitCode === NO_FOLDER) return missingFolder(directory)
  if (exitCode === NO_DOCKERFILE) return missingDockerfile(dockerfile)
  if (exitCode === 137)
    return new StepFailure('out-of-memory', 'The build was killed (exit code 137), most likely because memory ran out.', {
      hint: MEMORY_HINT,
    })
  const text = tail.replaceAll('\r', '')
  const error = /^ERROR: (.+)/m.exec(text)?.[1]?.replace(ERROR_PREFIXES, '').trim()
  const command = failedCommand(text)
  if (command !== undefined) return commandFailure(command)
  if (error !== undefined && OUR_DISK.test(error) && !error.includes('failed to push'))
    return new StepFailure('disk-full', `The image cannot be built: ${error}`)
  const push = /failed to push [^\n]*/.exec(text)?.[0]
  if (push !== undefined) return new StepFailure('push-failed', `The image cannot be pushed: ${push}`)
  return new StepFailure(
    'build-failed',
    error === undefined ? `The build ended with exit code ${exitCode}.` : `The image cannot be built: ${error}`,
    { ...(error !== undefined && hintFor(error)) },
  )
}

export function missingFolder(directory: string): StepFailure {
  return new StepFailure('build-failed', `The folder ${directory} does not exist.`, {
    hint: `Clone the code in an earlier step. Folders are below ${VOLUME_PATH}.`,
  })
}

export function missingDockerfile(dockerfile: string): StepFailure {
  return new StepFailure('build-failed', `There is no Dockerfile at ${dockerfile}.`, {
    hint: '`dockerfile` is relative to `working_directory`, or an absolute path on the shared volume.',
  })
}

interface FailedCommand {
  readonly instruction: string
  readonly exitCode: number
  readonly lines: readonly string[]
}

/** Returns the failed instruction of the Dockerfile from the output of BuildKit or the classic builder. */
function failedCommand(text: string): FailedCommand | undefined {
  const end = /(?:did not complete successfully|executor failed running \[.*\]): exit code: (\d+)/.exec(text)
  if (end?.[1] !== undefined) {
    const block = /\n ?> \[[^\]]*\] (.+):\n([\s\S]*?)\n?------/.exec(`\n${text}`)
    const command = /(?:process "|failed running \[)(.*)(?:" did not complete|\]: exit code)/.exec(text)?.[1]
    const process = command?.replace(/^\/bin\/sh -c /, 'RUN ')
    const lines = (block?.[2] ?? '')
      .split('\n')
      .map((line) => line.replace(/^(#\d+ )?\d+\.\d+ ?/, '').trimEnd())
      .filter((line) => line !== '')
    return { instruction: block?.[1] ?? process ?? 'A command', exitCode: Number(end[1]), lines }
  }
  const classic = /The command '(.*)' returned a non-zero code: (\d+)/s.exec(text)
  if (classic?.[1] === undefined) return undefined
  return { instruction: classic[1].replace(/^\/bin\/sh -c /, 'RUN '), exitCode: Number(classic[2]), lines: [] }
}

function commandFailure({ instruction, exitCode, lines }: FailedCommand): StepFailure {
  const last = lines.slice(-LAST_LINES)
  const quoted = last.length === 0 ? '' : ` Its last lines:\n${last.join('\n')}`
  if (exitCode === 137)
    return new StepFailure(
      'out-of-memory',
      `"${instruction}" in the Dockerfile was killed (exit code 137), most likely because memory ran out.${quoted}`,
      { hint: MEMORY_HINT },
    )
  return new StepFailure('build-failed', `"${instruction}" in the Dockerfile ended with exit code ${exitCode}.${quoted}`)
}

function hintFor(error: string): { hint: string } | undefined {
  if (/target stage .* could not be found/.test(error)) return { hint: '`target` names a stage: FROM image AS stage.' }
  if (/failed to (compute cache key|calculate checksum)|"\/[^"]*": not found/.test(error))
    return { hint: 'A file that COPY names is not in the build context. Check `working_directory` and .dockerignore.' }
  if (/pull access denied|insufficient_scope|authorization failed|unauthorized|not found/i.test(error))
    return { hint: 'Check the names of base images; for a private registry name its integration in `registry_contexts`.' }
  return undefined
}
