/** The filters of `get builds`. */
import { COUNTED_BY_NAMES, REASON_CHOICES } from '../../build-values.ts'
import { oneOf, text, texts } from '../../command.ts'

export const buildFilterOptions = {
  pipeline: texts('--pipeline <name>', 'Builds, deliveries, disks, triggers: filter by pipeline; repeatable for builds'),
  status: text(
    '--status <status>',
    'Builds, deliveries, messages: filter by status; disks, GitLab jobs: by state; applications: by health; rollouts, workflows: by phase',
  ),
  branch: texts('--branch <name>', 'Builds, deliveries: filter by branch; repeatable for builds'),
  annotation: texts('-a, --annotation <name=value>', 'Builds: filter by annotation; NAME alone matches any value'),
  project: texts('--project <name>', 'Builds, pipelines, GitLab jobs, applications: filter by project; repeatable for builds'),
  initiator: texts('--initiator <name>', 'Builds: filter by who started them; repeatable'),
  trigger: texts('--trigger <name>', 'Builds: filter by the trigger of the pipeline; repeatable'),
  runtime: texts(
    '--runtime <name>',
    'Builds, disks: filter by runtime; applications, rollouts, workflows: by GitOps runtime; repeatable for builds',
  ),
  reason: oneOf('--reason <reason>', 'Builds: filter by the cause why they wait or ended', REASON_CHOICES),
  revision: text('--revision <commit>', 'Builds: filter by commit, at least its first four characters'),
  number: text('--number <number>', 'Builds: the one with this number'),
  query: text(
    '-q, --query <text>',
    'Builds: filter by a part of the commit message or branch, or the start of the commit; pipelines, applications, rollouts, workflows: by a part of the name',
  ),
  since: text('--since <time>', 'Builds: created at this time or later: a date, or a time ago such as 12h or 7d'),
  until: text('--until <time>', 'Builds: created before this time'),
  countBy: oneOf('--count-by <field>', 'Builds: print how many have each value of this field', COUNTED_BY_NAMES),
}
