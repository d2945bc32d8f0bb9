/** Kind freestyle: a container of a user's image. */
import { fillDirectory } from '../fields/directory.ts'
import { resolveMount } from '../fields/paths.ts'
import type { Mount } from '../fields/paths.ts'
import type { StepFields } from '../fields/step-fields.ts'
import type { Filled, Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

/** A container of a user's image. A shell with `set -e` runs `commands`; without them, the entry point of the image runs. */
export interface FreestyleAction {
  readonly kind: 'freestyle'
  readonly image: Template
  readonly workingDirectory?: Template
  readonly commands?: readonly Template[]
  readonly cmd?: readonly Template[]
  readonly entryPoint?: readonly Template[]
  readonly shell: 'sh' | 'bash'
  /** `KEY=VALUE` entries, in order. */
  readonly environment: readonly Template[]
  /** `source:target[:ro]`, with the source below the shared volume. */
  readonly volumes: readonly Template[]
  readonly registryContext?: Template
  /** IAM role to pull from an ECR registry of another account. */
  readonly roleArn?: Template
}

export type ResolvedFreestyle = Filled<FreestyleAction> & {
  /** Working directory of the container; absent means the directory of the image. */
  readonly directory?: string
  readonly mounts: readonly Mount[]
  /** The step that built the image, if `image` refers to one. */
  readonly imageStep?: string
}

export const freestyle = {
  performedBy: 'engine',
  resolve,
  subject: ({ image }, fill) => fill(image),
  images: ({ image, registryContext }) => [{ image, registryContext, pulledBy: 'engine' }],
  refersTo: 'directory',
  usesServices: true,
  canOverride: true,
  fillsVolume: false,
  environment: ({ environment }) => environment,
  exportedNames: ({ commands = [] }) => commands.flatMap(namesExportedBy),
} satisfies ActionKind<FreestyleAction, ResolvedFreestyle>

function resolve(action: FreestyleAction, fields: StepFields): ResolvedFreestyle {
  const own = fillDirectory(action.workingDirectory, fields, 'main-clone')
  const imageStep = fields.stepIn(action.image)
  return {
    kind: 'freestyle',
    image: fields.required('image', action.image, 'image'),
    ...(imageStep !== undefined && { imageStep }),
    ...fields.optional('workingDirectory', 'working_directory', action.workingDirectory),
    ...(own !== undefined && { directory: own }),
    ...(action.commands !== undefined && { commands: fields.list('commands', action.commands) }),
    ...(action.cmd !== undefined && { cmd: fields.list('cmd', action.cmd) }),
    ...(action.entryPoint !== undefined && { entryPoint: fields.list('entry_point', action.entryPoint) }),
    shell: action.shell,
    environment: fields.list('environment', action.environment),
    volumes: fields.list('volumes', action.volumes),
    mounts: fillMounts(action, fields),
    ...fields.optional('registryContext', 'registry_context', action.registryContext),
    ...fields.optional('roleArn', 'role_arn', action.roleArn),
  }
}

function fillMounts(action: FreestyleAction, fields: StepFields): Mount[] {
  const mounts: Mount[] = []
  for (const [index, template] of action.volumes.entries()) {
    const field = `volumes[${index}]`
    const mount = resolveMount(fields.text(field, template))
    if (typeof mount === 'string') fields.problem(field, `"${field}" ${mount}`, 'mount-invalid')
    else if (mounts.some(({ target }) => target === mount.target))
      fields.problem(field, `"${field}" mounts the same path twice`, 'mount-invalid')
    else mounts.push(mount)
  }
  return mounts
}

/** Returns the names that a command passes to `cf_export`. */
function namesExportedBy(command: string): string[] {
  return [...command.matchAll(/\bcf_export\s+((?:--mask\s+|[A-Za-z_]\w*(?:=(?:"[^"]*"|'[^']*'|\S*))?\s*)+)/g)].flatMap(
    ([, words = '']) => [...words.matchAll(/(?:^|\s)([A-Za-z_]\w*)(?==|\s|$)/g)].flatMap(([, name]) => name ?? []),
  )
}
