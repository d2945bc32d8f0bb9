import { defined } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { ROLES, type InstallationRole, type Invitation, type Role, type User } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { formatTime } from '../../format/time.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'
import { findSecret } from '../auth/credentials.ts'

interface UserOptions {
  readonly role: InstallationRole | undefined
  readonly project: readonly string[]
  readonly pipeline: readonly string[]
  readonly displayName: string | undefined
  readonly output: 'json' | undefined
}

/** Returns the fields of a user from the options. */
function readOptions({ role, project, pipeline, displayName }: Omit<UserOptions, 'output'>): {
  readonly role?: InstallationRole
  readonly displayName?: string
  readonly projects?: Record<string, Role>
  readonly pipelines?: Record<string, Role>
} {
  return defined({ role, displayName, ...readPlaceRoles({ project, pipeline }) })
}

/** Returns the roles of the options --project and --pipeline, which are `NAME=ROLE` texts. Throws `usage`. */
export function readPlaceRoles({ project, pipeline }: Pick<UserOptions, 'project' | 'pipeline'>): {
  readonly projects?: Record<string, Role>
  readonly pipelines?: Record<string, Role>
} {
  return defined({ projects: readRoles('--project', project), pipelines: readRoles('--pipeline', pipeline) })
}

function readRoles(option: string, texts: readonly string[]): Record<string, Role> | undefined {
  const read = (text: string): [string, Role] => {
    const at = text.lastIndexOf('=')
    return [text.slice(0, Math.max(at, 0)), readRole(text.slice(at + 1), `${option} takes NAME=ROLE, not "${text}".`)]
  }
  return texts.length === 0 ? undefined : Object.fromEntries(texts.map(read))
}

function readRole(text: string, message: string): Role {
  const role = ROLES.find((one) => one === text)
  if (role === undefined) throw fault('usage', { message, hint: `Use one of the roles ${ROLES.join(', ')}.` })
  return role
}

/** Runs `invite NAME`. Prints only the link on standard output. */
export async function invite({ args, options, out, settings }: Invocation<UserOptions & { again: boolean }>): Promise<void> {
  const [name = ''] = args
  const { client, url } = openSession(settings)
  if (options.again) {
    const invitation = await client.users.invite(name)
    return printInvitation(out, { name, invitation, url, json: options.output === undefined ? undefined : invitation })
  }
  const user = await client.users.create({ name, ...readOptions(options) })
  if (user.invitation === undefined)
    throw fault('internal', { message: 'The server has created the user without an invitation.' })
  printInvitation(out, { name, invitation: user.invitation, url, json: options.output === undefined ? undefined : user })
}

interface Printed {
  readonly name: string
  readonly invitation: Invitation
  readonly url: string
  /** Printed instead of the text. */
  readonly json: unknown
}

function printInvitation(out: Printer, { name, invitation, url, json }: Printed): void {
  if (json !== undefined) return out.line(JSON.stringify(json, null, 2))
  out.note(`Give this link to ${name}. It sets the password once, until ${formatTime(invitation.expiresAt)}:`)
  out.line(`${url}/signin#invitation=${invitation.code}`)
}

/** Runs `create user NAME`. */
export async function createUser({
  args,
  options,
  out,
  settings,
}: Invocation<UserOptions & { passwordFile: string | undefined }>): Promise<void> {
  const { client } = openSession(settings)
  const hint = 'Pass it with --password-file, or use `windlass invite`.'
  const given = await findSecret({ file: options.passwordFile, given: undefined, question: 'Password', hint })
  const password = given.replace(/\r?\n$/, '')
  print(out, await client.users.create({ name: args[0] ?? '', password, ...readOptions(options) }), 'created', options.output)
}

/** Runs `create service-account NAME`. */
export async function createServiceAccount({ args, options, out, settings }: Invocation<UserOptions>): Promise<void> {
  const { client } = openSession(settings)
  const account = await client.users.create({ name: args[0] ?? '', kind: 'service-account', ...readOptions(options) })
  print(out, account, 'created', options.output)
}

/** Runs `set user NAME`. */
export async function changeUser({
  args,
  options,
  out,
  settings,
}: Invocation<
  UserOptions & { disabled: boolean | undefined; subject: string | undefined; unlinkSubject: boolean }
>): Promise<void> {
  const { disabled, unlinkSubject } = options
  if (unlinkSubject && options.subject !== undefined)
    throw fault('usage', { message: '--subject and --unlink-subject exclude each other.', hint: 'Use one of them.' })
  const subject = unlinkSubject ? null : options.subject
  const change = { ...readOptions(options), ...defined({ disabled, subject }) }
  if (Object.keys(change).length === 0)
    throw fault('usage', {
      message: 'There is nothing to change.',
      hint: 'Use --role, --project, --pipeline, --display-name, --subject or --disabled.',
    })
  const { client } = openSession(settings)
  print(out, await client.users.change(args[0] ?? '', change), 'changed', options.output)
}

/** Runs `set role USER NAME ROLE`. */
export async function setRole({ args, options, out, settings }: Invocation<{ readonly pipeline: boolean }>): Promise<void> {
  const [user = '', name = '', role = ''] = args
  const { users } = openSession(settings).client
  const [grant, revoke] = options.pipeline ? [users.grantPipeline, users.revokePipeline] : [users.grant, users.revoke]
  if (role === 'none') await revoke(user, name)
  else await grant(user, name, { role: readRole(role, `The role "${role}" does not exist.`) })
  const place = options.pipeline ? `for the pipeline ${name}` : `in the project ${name}`
  out.line(`${user} has ${role === 'none' ? 'no role' : `the role ${role}`} ${place}.`)
}

function print(out: Printer, user: User, verb: string, output: 'json' | undefined): void {
  if (output === 'json') return out.line(JSON.stringify(user, null, 2))
  out.line(`${user.kind}/${user.name} ${verb}`)
}
