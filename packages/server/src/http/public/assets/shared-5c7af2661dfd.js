/** Shows status and log of a build to the holder of a link (`/shared#build=…&link=…`), or those of a build of a public pipeline (`#build=…`). */
const title = document.querySelector('#title')
const facts = document.querySelector('#facts')
const message = document.querySelector('#message')
const steps = document.querySelector('#steps')
const log = document.querySelector('#log')
const download = document.querySelector('#download')

/** Time between two reads of a build that runs. Milliseconds. */
const INTERVAL_MS = 5_000
/** Bytes of log that the page keeps. */
const MAX_SHOWN = 2_000_000
const FINAL = ['success', 'error', 'terminated']

const given = new URLSearchParams(location.hash.slice(1))
const [id, link] = [given.get('build') ?? '', given.get('link')]
const headers = link === null ? {} : { 'x-windlass-link': link }
/** A character may be split between two reads. */
const decoder = new TextDecoder()
let shown = 0

async function read(path) {
  const answer = await fetch(`/v1/shared/builds/${encodeURIComponent(id)}${path}`, { headers })
  if (answer.ok) return answer
  throw new Error((await answer.json()).detail)
}

const WORDS = {
  success: 'Succeeded',
  error: 'Failed',
  terminated: 'Terminated',
  running: 'Running',
  pending: 'Waiting',
  'pending-approval': 'Waiting for an approval',
  elected: 'Starting',
  skipped: 'Skipped',
}

const wordOf = (status) => WORDS[status] ?? status
const timeOf = (at) => new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })

function elementOf(name, textContent, status) {
  const element = Object.assign(document.createElement(name), { textContent })
  if (status !== undefined) element.dataset.status = status
  return element
}

function show({ number, pipeline, status, reason, branch, revision, createdAt, finishedAt, expiresAt, steps: rows }) {
  title.textContent = `${pipeline ?? 'Build'} #${number}`
  document.title = `${wordOf(status)}: ${title.textContent} · Windlass`
  facts.textContent = [
    branch,
    revision?.slice(0, 8),
    finishedAt === undefined ? `created ${timeOf(createdAt)}` : `ended ${timeOf(finishedAt)}`,
    expiresAt === undefined ? undefined : `this link ends ${timeOf(expiresAt)}`,
  ]
    .filter((fact) => fact !== undefined)
    .join(' · ')
  message.textContent = wordOf(status) + (reason === undefined || reason === 'step-failed' ? '' : `: ${reason}`)
  message.dataset.status = status
  steps.replaceChildren(
    ...rows.map((step) => {
      const row = document.createElement('li')
      row.append(elementOf('span', step.title), elementOf('span', wordOf(step.status), step.status))
      return row
    }),
  )
}

/** Adds the log from where the page has read so far. The text is never markup. */
async function readLog() {
  const text = await (await read(`/log?offset=${shown}`)).arrayBuffer()
  shown += text.byteLength
  log.textContent = (log.textContent + decoder.decode(text, { stream: true })).slice(-MAX_SHOWN)
}

async function refresh() {
  const build = await (await read('')).json()
  show(build)
  await readLog()
  return FINAL.includes(build.status)
}

async function follow() {
  try {
    if (!(await refresh())) setTimeout(follow, INTERVAL_MS)
  } catch (error) {
    message.textContent = error.message
  }
}

download.addEventListener('click', async () => {
  const bytes = await (await read('/log')).blob()
  const url = URL.createObjectURL(bytes)
  Object.assign(document.createElement('a'), { href: url, download: `build-${id}.log` }).click()
  URL.revokeObjectURL(url)
})

await follow()
