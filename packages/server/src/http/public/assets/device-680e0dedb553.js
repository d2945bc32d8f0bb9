/** Confirms the login of a command line: signs in if necessary, asks for the short code, and shows what asks before the user decides. */
const message = document.querySelector('#message')
const nameForm = document.querySelector('#sign-in')
const name = document.querySelector('#name')
const password = document.querySelector('#password')
const provider = document.querySelector('#provider')
const providerName = document.querySelector('#provider-name')
const codeForm = document.querySelector('#enter-code')
const code = document.querySelector('#code')
const decision = document.querySelector('#decision')
const approve = document.querySelector('#approve')
const deny = document.querySelector('#deny')

/** Returns the body of the response. Throws an error with the message of the server. */
async function call(method, path, body) {
  const headers = { 'x-windlass-request': '1', ...(body !== undefined && { 'content-type': 'application/json' }) }
  const answer = await fetch(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  const result = text === '' ? undefined : JSON.parse(text)
  if (answer.ok) return result
  const error = new Error(
    answer.status === 429 ? `${result.detail} Retry in ${answer.headers.get('retry-after')} s.` : result.detail,
  )
  throw Object.assign(error, { status: answer.status })
}

function show(element, text) {
  message.textContent = text
  for (const one of [nameForm, codeForm, decision]) one.hidden = one !== element
  provider.hidden = true
}

/** Offers the sign-in through the provider of the server, if it has one and the form for passwords is shown. */
async function offerProvider() {
  try {
    const { oidc } = await call('GET', '/v1/status')
    providerName.textContent = oidc?.name ?? ''
    provider.hidden = oidc === undefined || nameForm.hidden
  } catch {
    provider.hidden = true
  }
}

let session
let request

/** Asks for the code. A code of the address is filled in, but never sent without a click. */
function askCode(text) {
  show(codeForm, text ?? `Signed in as ${session.user?.name ?? session.key.name}. Enter the code that the command shows.`)
  code.focus()
}

function askPassword(text) {
  show(nameForm, text)
  void offerProvider()
  password.value = ''
  name.focus()
}

const path = (verb) => `/v1/device-codes/${encodeURIComponent(code.value.trim())}${verb}`

async function look(event) {
  event.preventDefault()
  try {
    request = await call('GET', path(''))
    show(
      decision,
      `${request.client} at the address ${request.address} asks to act as ${session.user?.name ?? session.key.name}. ` +
        `Approve only if you have just started this login and it shows the code ${request.userCode}.`,
    )
  } catch (error) {
    if (error.status === 401) askPassword('The session has ended. Sign in again.')
    else askCode(error.message)
  }
}

async function decide(verb, text) {
  try {
    await call('POST', path(`/${verb}`))
    show(undefined, text)
  } catch (error) {
    askCode(error.message)
  }
}

nameForm.addEventListener('submit', async (event) => {
  event.preventDefault()
  try {
    session = await call('POST', '/v1/sessions', { name: name.value.trim(), password: password.value })
    askCode()
  } catch (error) {
    askPassword(error.message)
  }
})
codeForm.addEventListener('submit', look)
approve.addEventListener('click', () => decide('approve', 'Approved. Return to the command line.'))
deny.addEventListener('click', () => decide('deny', 'Denied. The command line gets no key.'))

const given = new URLSearchParams(location.hash.slice(1)).get('code')
if (given !== null) code.value = given
if (location.hash !== '') history.replaceState(null, '', location.pathname)
try {
  session = await call('GET', '/v1/sessions/current')
  askCode()
} catch (error) {
  askPassword(error.status === 401 ? 'Sign in to confirm the login of a command line.' : error.message)
}
