/** The addresses to enter at the forge for the repositories of a pipeline, and a form that makes one with its secret, which is shown once. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { FORGES, type Webhook, type WebhookCreated } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { deliveryQueries } from '../deliveries/queries.ts'
import { Button } from '../parts/button.tsx'
import { Select } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import { Field } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Table } from '../parts/table.tsx'
import { calls } from './calls.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'

export function WebhookAddresses({ repos }: { readonly repos: readonly string[] }): ReactElement {
  const state = useSession()
  const session = state.kind === 'in' ? state.session : undefined
  const hidden = whyNot(session, 'see-contexts')
  const { data, error } = useQuery({ ...deliveryQueries.webhooks(), enabled: hidden === undefined })
  const [created, setCreated] = useState<WebhookCreated>()
  const [isOpen, setIsOpen] = useState(false)
  const wanted = new Set(repos.map((repo) => repo.toLowerCase()))
  const webhooks = (data?.items ?? []).filter(
    ({ repo, forge }) => forge !== undefined && (repo === undefined || wanted.has(repo)),
  )
  const off = useAway() ?? whyNot(session, 'change-contexts')
  return (
    <section className={layout['tight']} aria-label="Addresses for the forge">
      <h2>Addresses for the forge</h2>
      {hidden !== undefined && <p className={layout['note']}>{hidden}</p>}
      {error !== null && <Problem error={error} />}
      {data !== undefined && webhooks.length === 0 && (
        <p className={layout['note']}>
          No webhook receives events of {repos.join(', ')} yet. Make one and enter it at the forge.
        </p>
      )}
      {webhooks.length > 0 && <Addresses webhooks={webhooks} />}
      {created !== undefined && (
        <ShownOnce
          title={`Enter this at ${created.forge ?? 'the forge'}. The secret is shown only now.`}
          parts={[
            { label: 'Address', text: created.url },
            { label: 'Secret', text: created.secret },
          ]}
        >
          Choose application/json as the content type, and the events that the triggers name.
        </ShownOnce>
      )}
      {isOpen ? (
        <NewWebhook
          repo={repos[0]}
          onDone={(webhook) => {
            setCreated(webhook)
            setIsOpen(false)
          }}
        />
      ) : (
        <div className={layout['buttons']}>
          <Button off={off} onClick={() => setIsOpen(true)}>
            Make an address
          </Button>
        </div>
      )}
    </section>
  )
}

function Addresses({ webhooks }: { readonly webhooks: readonly Webhook[] }): ReactElement {
  return (
    <Table
      caption="Webhooks that receive the events"
      rows={webhooks}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
        { head: 'Forge', cell: ({ forge }) => forge ?? '' },
        { head: 'Repository', cell: ({ repo }) => <bdi>{repo ?? 'all'}</bdi> },
        { head: 'Address', cell: ({ url }) => <Command text={url} /> },
        { head: 'Finds missed pushes', cell: ({ polls }) => (polls === true ? 'yes' : 'no') },
      ]}
    />
  )
}

interface NewWebhookProps {
  readonly repo: string | undefined
  readonly onDone: (webhook: WebhookCreated) => void
}

function NewWebhook({ repo: first = '', onDone }: NewWebhookProps): ReactElement {
  const away = useAway()
  const [name, setName] = useState('')
  const [forge, setForge] = useState<string>('github')
  const [repo, setRepo] = useState(first)
  const make = useMutation({
    mutationFn: () =>
      calls.webhooks.create({
        name: name.trim(),
        forge: FORGES.find((one) => one === forge) ?? 'github',
        ...(repo.trim() !== '' && { repo: repo.trim() }),
      }),
    onSuccess: (webhook) => {
      void queryClient.invalidateQueries({ queryKey: ['webhooks'] })
      onDone(webhook)
    },
  })
  return (
    <div className={layout['form']} role="group" aria-label="New address">
      <div className={layout['pair']}>
        <Field label="Name of the webhook" value={name} onChange={(event) => setName(event.target.value)} />
        <Select label="Forge" options={FORGES.map((one) => ({ value: one, label: one }))} value={forge} onChange={setForge} />
        <Field label="Only for the repository" value={repo} onChange={(event) => setRepo(event.target.value)} />
      </div>
      {make.error !== null && <Problem error={make.error} />}
      <div className={layout['buttons']}>
        <Button
          tone="primary"
          off={away ?? (name.trim() === '' ? 'The webhook has no name.' : undefined)}
          isBusy={make.isPending}
          onClick={() => make.mutate()}
        >
          Make the address
        </Button>
      </div>
      <Command text={sh`windlass create webhook ${name.trim() || 'NAME'} --forge ${forge}`} />
    </div>
  )
}
