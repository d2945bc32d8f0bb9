/** Fields for ECR in other regions and accounts (pipeline language 2.4 to 2.6). */
import type { Aws } from '@windlass/plan'
import * as read from '../fields.ts'
import type { Entries } from '../fields.ts'
import { text } from '../shape.ts'
import type { Fields } from '../shape.ts'
import { reportValue } from '../step-rules.ts'
import type { RulePlace } from '../step-type.ts'

export const AWS: Fields = {
  region: { shape: text, about: 'Region of the ECR registry; that of the integration by default.' },
  role_arn: { shape: text, about: 'Role to take on for a registry of another account.' },
  aws_session_name: { shape: text, about: 'Name of the session of the role; `default-session-name` by default.' },
  aws_duration_seconds: {
    shape: { kind: 'number', whole: true },
    about: 'Length of the session of the role: 900 to 3600, 3600 by default; needs `role_arn`.',
  },
}

/** Keys of one's own, on push steps alone. */
export const AWS_KEYS: Fields = {
  accessKeyId: { shape: text, about: 'Access key for ECR, in place of the integration’s.' },
  secretAccessKey: { shape: text, about: 'Secret of the access key; use a variable.' },
}

const REGION = /^[a-z]{2,4}(?:-[a-z]{2,5})?-(?:(?:north|south)?(?:east|west)|central|north|south)-\d$/
const ROLE = /^arn:aws[a-z-]{0,12}:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/
const DURATION = { least: 900, most: 3_600 }

/** The forms of the fields for ECR; texts with variables pass. */
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
    reportValue(duration.value, place('aws_duration_seconds'), '"aws_duration_seconds" must be from 900 to 3600')
}

/** `role_arn` must name a role; texts with variables pass. */
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

/** What is written of them, or undefined when nothing is. */
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
