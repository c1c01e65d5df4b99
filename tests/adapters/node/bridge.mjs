// What a bridge in Node answers to events, one a line: [what, whether it is to be answered]. node bridge.mjs ADDRESS
import { Bridge } from "backscroll/adapters/bridge.mjs";
import { eventOf } from "backscroll/adapters/telegram.mjs";

const [address] = process.argv.slice(2);
const cat = { id: 900, username: "catbot", first_name: "Cat" };
const ann = { id: 1, is_bot: false, first_name: "Ann", username: "ann_l" };
const about = { chat: { id: 1, type: "private" }, business_connection_id: "B1" };
const message = (id, text, more) => ({ message_id: id, date: 1_795_132_800 + id, from: ann, text, ...about, ...more });
const said = (id, text, more) => eventOf({ business_message: message(id, text, more) }, cat);
const edited = (id, text) => eventOf({ edited_business_message: message(id, text, { edit_date: 1_795_133_000 }) }, cat);
const deleted = (...message_ids) => eventOf({ deleted_business_messages: { ...about, message_ids } }, cat);
const own = (id, text) => said(id, text, { from: { ...cat, is_bot: true } });
const HUGE = "猫".repeat(2_000_000); // more than a call can carry

let bridge = new Bridge(address);
const take = async (what, ...given) => console.log(JSON.stringify([what, Boolean(await bridge.take(...given))]));
const restart = () => {
  bridge.close();
  bridge = new Bridge(address);
};

const question = said(1, "when is dinner?");
await take("a question", question);
await take("the same again", question);
restart();
await take("the same after a restart", question);
await take("an edit of what was never seen", edited(2, "at ten?"));
await take("the same message, late", said(2, "at nine?"));
await take("a deletion of what was never seen", deleted(3));
await take("the same message, late", said(3, "oh"));
await take("a deletion of what is gone", deleted(3));
await take("an edit of what is gone", edited(3, "oh no"));
await take("a huge text", said(4, HUGE));
await take("a text that is a little too long", said(4, HUGE.slice(0, 30_000)));
await take("a huge edit", edited(1, HUGE));
await take("an edit that is a little too long", edited(1, HUGE.slice(0, 30_000)));
await take("a deletion of what will be refused", deleted(5));
await take("what is refused", said(5, HUGE));
await take("a name that is too long", said(6, "hi", { from: { ...ann, first_name: "x".repeat(600) } }));
await take("a message that cannot be read", said(7, ["hi"]));
const answer = await bridge.chat(question);
await take("the server's answer, as the platform tells of it first", own(8, "At nine, says the cat."));
await take("the same, with the answer", own(8, "At nine, says the cat."), { answers: answer });
const another = said(9, "and now?");
await take("another question", another);
const failed = await bridge.chat(another);
console.log(JSON.stringify([failed.error.message, Boolean(failed.end.replyMessageId)]));
const context = await bridge.context(question, { system: "You are Cat." });
await take("an answer to a context", own(10, "At ten."), { answers: context });
await take("the next question", said(11, "when?"));
console.log(JSON.stringify([context.contextId, context.payload.messages[0].content === "You are Cat."]));
bridge.close();
