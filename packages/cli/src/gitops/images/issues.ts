/** Reads issues of Jira by the keys in a text, such as the title of a pull request. */
import { defined } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { basicAuth, IMAGE_REPORT_MAX as MAX, toReportLine, toWebAddress, type ImageIssue } from '@windlass/protocol'
import { z } from 'zod'
import { jsonOf, type Ask } from './ask.ts'

export interface Jira {
  readonly url: string
  /** Absent for a personal access token of Jira Data Center. */
  readonly username?: string | undefined
  readonly token: string
  /** Whether the issue with a key may be read. */
  readonly isAllowed: (key: string) => boolean
}

const MAX_PROJECT = 31

const Issue = z.looseObject({
  key: z.string(),
  fields: z.looseObject({
    summary: z.string().nullish(),
    status: z.looseObject({ name: z.string() }).nullish(),
    assignee: z.looseObject({ displayName: z.string() }).nullish(),
  }),
})

/** Returns the keys in a text, each once: `SHOP-12`. `projects` limits them; case does not matter then, because branches are often written small. */
export function keysIn(text: string, projects: readonly string[]): string[] {
  const known = projects.map(toProject)
  const found = [...text.matchAll(/(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9_]*)-(\d{1,10})(?![A-Za-z0-9])/g)]
  const keys = found.flatMap(([, project = '', number = '']) => {
    const isMeant = known.length === 0 ? project === project.toUpperCase() : known.includes(project.toUpperCase())
    return isMeant && project.length <= MAX_PROJECT ? [`${project.toUpperCase()}-${number}`] : []
  })
  return [...new Set(keys)].slice(0, MAX.issues)
}

/** Returns the key of a project; `shop-` is one too. */
export function toProject(text: string): string {
  return text.toUpperCase().replace(/-$/, '')
}

/** Reads the issues that exist. Throws `service-refused` and `service-unreachable`. */
export async function readIssues(ask: Ask, jira: Jira, keys: readonly string[]): Promise<ImageIssue[]> {
  const { url: base, username, token, isAllowed } = jira
  const authorization = username === undefined ? `Bearer ${token}` : basicAuth(username, token)
  const start = base.replace(/\/+$/, '')
  const issues: ImageIssue[] = []
  for (const key of keys) {
    const url = new URL(`${start}/rest/api/2/issue/${key}?fields=summary,status,assignee`)
    const answer = await ask(url, { authorization })
    if (answer.status === 404) continue
    const issue = Issue.safeParse(jsonOf(url, answer, 'Check the user name and the token of Jira.')).data
    if (issue === undefined) throw fault('service-refused', { message: `The answer of ${url.host} is not an issue of Jira.` })
    // Jira finds an issue that was moved to another project by its old key too.
    if (!isAllowed(issue.key)) continue
    const { summary, status, assignee } = issue.fields
    issues.push({
      key,
      ...defined({
        title: toReportLine(summary, MAX.title),
        status: toReportLine(status?.name, MAX.status),
        assignee: toReportLine(assignee?.displayName, MAX.assignee),
        url: toWebAddress(`${start}/browse/${key}`),
      }),
    })
  }
  return issues
}
