/** The reference pages of roles and scopes, from the table of rights and the routes of the server. */
import { z } from 'zod'
import { GITOPS_RIGHTS, RIGHTS, ROLES, SCOPES, type Right } from '../packages/protocol/src/index.ts'
import { NOTE, table } from './pages.ts'

const Operations = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        'x-windlass-allow': z.string(),
        'x-windlass-role': z.string().optional(),
        'x-windlass-project': z.boolean().optional(),
        security: z.array(z.object({ token: z.array(z.string()).optional() })),
      }),
    ),
  ),
})

interface DescribedRoute {
  readonly route: string
  /** The right, or the kind of credential. */
  readonly allow: string
  readonly role: string
  readonly inProject: boolean
  readonly scope: string | undefined
}

function describeRoutes(api: unknown): DescribedRoute[] {
  return Object.entries(Operations.parse(api).paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, { 'x-windlass-allow': allow, 'x-windlass-project': inProject = false, ...more }]) => ({
        route: `\`${method.toUpperCase()} ${path}\``,
        allow,
        role: more['x-windlass-role'] ?? allow,
        inProject,
        scope: more.security.flatMap(({ token = [] }) => token)[0],
      }),
    ),
  )
}

/** Lists the rights of each role, and the routes of each right. */
export function rolePage(api: unknown): string {
  const rights = Object.entries<(typeof RIGHTS)[Right]>(RIGHTS)
  const rows = rights.map(([name, { role, at, text }]) => [
    `[${name}](#${name})`,
    text,
    at === 'installation' ? '' : 'yes',
    at === 'pipeline' ? 'yes' : '',
    ...ROLES.map((one) => (ROLES.indexOf(one) >= ROLES.indexOf(role) ? 'yes' : '')),
  ])
  const routes = describeRoutes(api)
  const sections = rights.map(([name]) => {
    const own = routes.filter(({ allow }) => allow === name)
    const lines = own.map(
      ({ route, inProject }) =>
        `- ${route}${inProject ? '' : RIGHTS[name as Right].at !== 'installation' ? ' (only with a role for the installation)' : ''}`,
    )
    if (GITOPS_RIGHTS.some((right) => right === name)) lines.push('- calls of an [app-proxy](../operate/app-proxy.md)')
    return `## ${name}\n\n${lines.length === 0 ? 'Checked by the routes that start builds and change pipelines.' : lines.join('\n')}`
  })
  return `${NOTE}
# Roles

Source: \`RIGHTS\` in packages/protocol/src/access/roles.ts, which the server checks. A user has a role for the installation (also \`none\`), one in each project, and one for each pipeline. A role
in a project counts for the rights with "project", one for a pipeline for those with "pipeline". [Users](../operate/users.md) explains how roles are given.

${table(['right', 'allows to', 'project', 'pipeline', ...ROLES], rows)}

${sections.join('\n\n')}
`
}

/** Lists the routes of each scope. */
export function scopePage(api: unknown): string {
  const routes = describeRoutes(api)
  const sections = SCOPES.map((scope) => {
    const own = routes.filter((route) => route.scope === scope)
    const rows = own.map(({ route, allow, role }) => [route, role, allow === role ? '' : allow])
    return `## ${scope}\n\n${table(['route', 'role', 'right'], rows)}`
  })
  return `${NOTE}
# Scopes

Source: \`scope\` of each route in packages/server/src/http. A key with limited scopes needs the scope and the [right](roles.md); \`runner\` is an admin or an agent, \`signed-in\` any user or key.
A \`:write\` scope includes \`:read\`. [Operations](../operate/operations.md#scopes) explains which scopes give access to secrets.

${sections.join('\n\n')}
`
}
