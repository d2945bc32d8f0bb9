/** Fields for ECR registries in other regions and accounts. */
import type { Aws } from '@windlass/plan'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { text } from '../language/shape.ts'
import type { Fields } from '../language/shape.ts'
import { reportValue } from '../language/step-rules.ts'
import type { RulePlace } from '../language/step-type.ts'

export const AWS: Fields = {
  region: { shape: text, about: 'Region of the ECR registry; the region of the integration by default.' },
  role_arn: { shape: text, about: 'IAM role to assume for a registry of another account.' },
  aws_session_name: { shape: text, about: 'Name of the role session; `default-session-name` by default.' },
  aws_duration_seconds: {
    shape: { kind: 'number', whole: true },
    about: 'Length of the role session in seconds: 900 to 3600, 3600 by default; needs `role_arn`.',
  },
}

/** Access keys, only on push steps. */
export const AWS_KEYS: Fields = {
  accessKeyId: { shape: text, about: 'Access key for ECR instead of the one of the integration.' },
  secretAccessKey: { shape: text, about: 'Secret access key; use a variable.' },
}

const REGION = /^[a-z]{2,4}(?:-[a-z]{2,5})?-(?:(?:north|south)?(?:east|west)|central|north|south)-\d$/
const ROLE = /^arn:aws[a-z-]{0,12}:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/
const DURATION = { least: 900, most: 3_600 }

/** Checks the form of the ECR fields. Texts with variables pass. */
export function checkAws(entries: Entries, { report, path }: Pick<RulePlace, 'report' | 'path'>): void {
  const place = (key: string): Parameters<typeof reportValue>[1] => ({ report, path: `${path}.${key}`, code: 'aws-access' })
  checkRole(entries, { report, path })
  const region = read.text(entries, 'region')
  const regionNode = read.node(entries, 'region')
  if (region !== undefined && regionNode !== undefined && !region.includes('${{') && !REGION.test(region))
    reportValue(regionNode, place('region'), '"region" must be an AWS region such as eu-central-1')
  const duration = entries.get('aws_duration_seconds')
  const seconds = read.number(entries, 'aws_duration_seconds')
  if (duration === undefined) return
  if (!entries.has('role_arn'))
    report.error('aws-access', duration.keyRange, '"aws_duration_seconds" is only allowed with "role_arn"', {
      path: `${path}.aws_duration_seconds`,
    })
  else if (seconds !== undefined && (seconds < DURATION.least || seconds > DURATION.most))
    reportValue(duration.value, place('aws_duration_seconds'), '"aws_duration_seconds" must be between 900 and 3600')
}

/** Checks that `role_arn` is the ARN of a role. Texts with variables pass. */
export function checkRole(entries: Entries, { report, path }: Pick<RulePlace, 'report' | 'path'>): void {
  const role = read.text(entries, 'role_arn')
  const written = read.node(entries, 'role_arn')
  if (role === undefined || written === undefined || role.includes('${{') || ROLE.test(role)) return
  reportValue(
    written,
    { report, path: `${path}.role_arn`, code: 'aws-access' },
    '"role_arn" must have the form arn:aws:iam::<12 digits>:role/<name>',
  )
}

/** Returns the ECR fields that are set, or undefined if there are none. */
export function toAws(entries: Entries): Aws | undefined {
  const aws: Aws = {
    ...read.when('region', read.text(entries, 'region')),
    ...read.when('roleArn', read.text(entries, 'role_arn')),
    ...read.when('sessionName', read.text(entries, 'aws_session_name')),
    ...read.when('durationSeconds', read.number(entries, 'aws_duration_seconds')),
    ...read.when('accessKeyId', read.text(entries, 'accessKeyId')),
    ...read.when('secretAccessKey', read.text(entries, 'secretAccessKey')),
  }
  return Object.keys(aws).length === 0 ? undefined : aws
}
