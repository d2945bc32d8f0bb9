/** One step: its end, what it ran, and its output. */
import { useQuery } from '@tanstack/react-query'
import { describeStep, formatUsage, isFinalStep } from '@windlass/plan'
import type { Build, BuildStep } from '@windlass/protocol'
import { X } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { lookOfStep } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { Button, IconButton } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import { shellWord } from '../parts/shell-word.ts'
import styles from './build.module.css'
import { StepLog } from './step-log.tsx'

export function StepPanel({ build, step }: { readonly build: Build; readonly step: BuildStep }): ReactElement {
  const [, go] = useLocation()
  const [part, setPart] = useState<'log' | 'details'>('log')
  const ended =
    step.status === 'success' || step.status === 'pending' || !isFinalStep(step.status) ? undefined : describeStep(step)
  return (
    <section className={styles['panel']} aria-label={`Step ${step.name}`}>
      <div className={styles['panelHead']}>
        <h2>
          <bdi>{step.name}</bdi>
        </h2>
        <Status look={lookOfStep(step)} />
        <span className="quiet">{formatUsage(step.usage)}</span>
        <div className={styles['buttons']}>
          <Button small tone="quiet" aria-pressed={part === 'log'} onClick={() => setPart('log')}>
            Log
          </Button>
          <Button small tone="quiet" aria-pressed={part === 'details'} onClick={() => setPart('details')}>
            Details
          </Button>
          <IconButton label="Close the step" onClick={() => go(paths.build(build.id))}>
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      </div>
      {ended !== undefined && (
        <p className={styles['cause']}>
          <bdi>{ended}</bdi>
        </p>
      )}
      {part === 'log' ? <StepLog build={build} step={step} /> : <Details build={build} step={step} />}
    </section>
  )
}

function Details({ build, step }: { readonly build: Build; readonly step: BuildStep }): ReactElement {
  const { data } = useQuery(queries.buildPlan(build.id))
  const planned = data?.plan?.steps.find(({ name }) => name === step.name)
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Kind', planned?.type ?? planned?.kind ?? step.type],
    ['Works on', planned?.subject],
    ['Stage', step.stage],
    ['After', planned?.after.join(', ')],
    ['Condition', planned?.because],
    ['Notes', planned?.notes.join(', ')],
    ['Services', planned?.services.join(', ')],
    ['Place in the document', planned?.position === undefined ? undefined : `line ${planned.position.line}`],
    ['Exit code', step.exitCode?.toString()],
  ]
  return (
    <div className={styles['details']}>
      <dl>
        {facts
          .filter(([, value]) => value !== undefined && value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </div>
          ))}
      </dl>
      <Command text={`windlass logs ${build.id} --step ${shellWord(step.name)}`} />
    </div>
  )
}
